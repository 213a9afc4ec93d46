// What a kernel sees of the emulated device. In: the names of CUDA C that weft.cuh and kernels use. Out: calls into the library
// of machine.cpp, which runs each thread of a block on a fiber of its own.
#pragma once
#include "thread.h"

#define __global__
#define __device__
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __forceinline__ inline

#define threadIdx (emulator::current->index)
#define blockIdx (emulator::block)
#define blockDim (emulator::block_extent)
#define gridDim (emulator::grid_extent)

// ---------------------------------------------------------------- arithmetic, without a header

inline float floorf(float x) { return __builtin_floorf(x); }
inline double floor(double x) { return __builtin_floor(x); }
inline float fmodf(float a, float b) { return __builtin_fmodf(a, b); }
inline double fmod(double a, double b) { return __builtin_fmod(a, b); }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
extern "C" void* memcpy(void*, const void*, decltype(sizeof 0));
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

// ---------------------------------------------------------------- atomics

template <class T> inline T atomicCAS(T* p, T expected, T next) {
    __atomic_compare_exchange_n(p, &expected, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

template <class T> inline T atomicExch(T* p, T next) { return __atomic_exchange_n(p, next, __ATOMIC_SEQ_CST); }
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

namespace emulator {

// ldmatrix: lane l gives row l % 8 of matrix l / 8, gets of each matrix row l / 4, columns 2 (l % 4) and the next; or transposed.
// Shared memory is read here, where ThreadSanitizer sees it.
inline void matrices(int line, unsigned* r, int count, const void* row, bool transposed) {
    aligned(row, 16);
    unsigned long long address = reinterpret_cast<unsigned long long>(row);
    unsigned words[2] = {unsigned(address), unsigned(address >> 32)};
    const unsigned(*of)[8] = exchange(line, words, 2);
    int major = current->lane >> 2, minor = 2 * (current->lane & 3);
    matrix_begins(row, current->lane < 8 * count);
    for (int i = 0; i < count; i++) {
        unsigned halves[2];
        for (int j = 0; j < 2; j++) {
            int at = i * 8 + (transposed ? minor + j : major), column = transposed ? major : minor + j;
            halves[j] = reinterpret_cast<const unsigned short*>(of[at][0] | (unsigned long long)of[at][1] << 32)[column];
        }
        r[i] = halves[0] | halves[1] << 16;
    }
    matrix_ends();
}

template <class T> inline T shuffle(int line, T x, int lane) {
    unsigned words[2] = {};
    memcpy(words, &x, sizeof x);
    const unsigned(*of)[8] = exchange(line, words, 2);
    memcpy(&x, of[lane], sizeof x);
    return x;
}

// d += a b of one warp: 4 words of a and 2 of b a lane; a word holds `packed` elements (2 halves: 16 steps of k, else 8).
template <class Element>
inline void multiply(int line, float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], int packed, Element element) {
    unsigned words[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    const unsigned(*of)[8] = exchange(line, words, 6);
    int row = current->lane >> 2, column = 2 * (current->lane & 3);
    for (int i = 0; i < 4; i++) {
        int low = i >> 1, n = column + (i & 1);  // this is d[row + 8 low][n]
        for (int k = 0; k < 8 * packed; k++) {
            int quad = k % (4 * packed) / packed, high = k / (4 * packed);
            d[i] += element(of[row * 4 + quad][low + 2 * high], k % packed) * element(of[n * 4 + quad][4 + high], k % packed);
        }
    }
}

}  // namespace emulator

// ---------------------------------------------------------------- launches: all arguments have 8 bytes

template <class... A, int... i> inline void unpacked(void (*kernel)(A...), const long long* words, emulator::Numbers<i...>) {
    kernel(((A)words[i])...);
}

template <class... A> inline void run(void (*kernel)(A...), const long long* words) {
    unpacked(kernel, words, emulator::Numbers<__integer_pack(sizeof...(A))...>());
}

template <class... A> constexpr int arity(void (*)(A...)) { return sizeof...(A); }

#define WEFT_EMULATED_AS(symbol)                                                        \
    extern "C" void symbol##_run(const long long* words) { run(symbol, words); }        \
    extern "C" const int symbol##_arity = arity(symbol);
#define WEFT_EMULATED(symbol) WEFT_EMULATED_AS(symbol)
