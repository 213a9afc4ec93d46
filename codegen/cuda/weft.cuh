// Everything that generated kernels call. In: CUDA C by codegen/cuda/emit/emit.py, which holds no assembly. Out: PTX, or plain C++.
//
// Built by NVRTC or nvcc (sm_75 and later, no header besides this one) or, with WEFT_EMULATOR, by a C++20 compiler behind
// tests/kit/cuda_emulator/emulator.h. The values are the same: IEEE floats, wrapping integers, nothing that traps.
//
// Types. An element is a bool, signed char, short, int, long long, their unsigned forms, float, double or
//   weft_f16, weft_bf16              16 bits of memory: moved, selected and cast, never computed with
//   weft_vec<T, N>                   N elements, 2 to 16 bytes in all, aligned to their size; v[i] is an element
//   weft_status                      two long longs {key, value}; key -1: no check failed
// Memory
//   weft_load<N>(p)                  weft_vec of p[0..N), p aligned to its size
//   weft_load_streaming<N>(p)        the same, for what is read once (ld.cs)
//   weft_store(p, v)                 a weft_vec to p[0..N)
//   weft_store_streaming(p, v)       the same, for what is not soon read again (st.cs)
//   weft_load<N>(p, aligned), weft_store(p, v, aligned), weft_store_streaming(p, v, aligned)    element by element unless aligned
//   weft_aligned(p, q, ..)           whether all these pointers are multiples of 16 bytes
//   weft_shared<T>(offset)           T* to this byte of the dynamic shared memory, which is aligned to 128 bytes
// Threads
//   weft_lane() weft_warp()          of this thread in its warp, of its warp in the block
//   weft_barrier()                   __syncthreads
//   weft_warp_barrier()              __syncwarp of all 32 lanes
//   weft_warp_reduce<Op>(x)          Op is weft_sum, weft_product or weft_largest: of all 32 lanes, known to all
//   weft_block_reduce<Op, T>(x)      of the T threads of a block (whole warps), known to all; has its own shared memory
//                                    (256 bytes, static) and barriers; both orders are fixed
// Values
//   weft_cast<To>(x)                 CAST between any two element types, rounded once; float to integer saturates, NaN is 0
//   weft_bitcast<To>(x)              BITCAST; weft_bitcast<float>(0x7f800000u) is infinity
//   weft_add sub mul neg (a, b)      of integers: wrap. Floats use the operators
//   weft_floordiv weft_mod (a, b)    Python's; a // 0 and a % 0 are 0. weft_mod is of floats, too: NumPy's remainder
//   weft_shl weft_shr (a, b)         by the width or more, or by less than nothing: 0, or the sign
//   weft_max(a, b)                   a if a >= b or a is NaN, else b
//   weft_floor weft_sqrt (x)         of floats
//   weft_fma(a, b, c)                rounded once
//   weft_ldexp(x, n)                 x * 2**n, n an integer of x's width
//   weft_combine<Op>(a, b)           one step of a reduction: add, multiply or max; of bools or, and, or
// Checks
//   weft_check(status, value, extent, site, position)    unless 0 <= value < extent, the status word says so; the lowest wins
//   weft_clamped(value, extent)      value if 0 <= value < extent, else 0
// Asynchronous copies (below sm_80 they are plain copies)
//   weft_cp_async<B>(to, from, valid = true)             B = 4, 8 or 16 bytes to shared memory, or zeros where not valid
//   weft_copy_async<N>(to, from, valid, aligned)         N elements in the same way; where not aligned, one after the other at once
//   weft_cp_async_commit()           ends a group of copies of this thread
//   weft_cp_async_wait<N>()          until all but its last N groups have arrived; a barrier shows them to other threads
// Matrix fragments: r[i] of lane l holds row l / 4, columns 2 (l % 4) and the next one, of the i-th 8x8 matrix of 16-bit elements
//   weft_ldmatrix_x4(r, row)         lane l gives the address of row l % 8 of matrix l / 8 (16 bytes, aligned); also _x2
//   weft_ldmatrix_x4_trans(r, row)   transposed; also _x2_trans
// Products, sm_80 and later: d += a b by a warp, d of float is 16 x 8; d[i] is row l / 4 + 8 (i / 2), column 2 (l % 4) + i % 2
//   weft_mma_bf16(d, a, b)           a 16 x 16, b 16 x 8; a[4] as by ldmatrix_x4 (rows 0-7 and 8-15, then columns 8-15), b[2] as
//   weft_mma_f16(d, a, b)            by ldmatrix_x2_trans of b stored [k][n], or by ldmatrix_x2 of b stored [n][k]
//   weft_mma_tf32(d, a, b)           a 16 x 8, b 8 x 8: a[i] is row l / 4 + 8 (i % 2), column l % 4 + 4 (i / 2);
//                                    b[i] is row l % 4 + 4 i, column l / 4
//   weft_tf32(x)                     a float rounded to TF32, as unsigned
//   weft_pack<H>(low, high)          two floats as two H (weft_f16 or weft_bf16) in an unsigned
//   weft_multiply<R, L, K, W, ..>(sums, a, b)   sums += a b of tiles in shared memory, R x L for each warp, W of these side by side,
//                                    over K steps; row i (lane j) at step k is a[i * a_across + k * a_along], floats as TF32
#pragma once

#ifdef WEFT_EMULATOR
#define WEFT_MEMBER
#define WEFT_FN inline
#else
#define WEFT_MEMBER __device__ __forceinline__
#define WEFT_FN static __device__ __forceinline__
#endif
#if defined(WEFT_EMULATOR) || __CUDA_ARCH__ >= 800
#define WEFT_HAS_MMA
#endif

// ---------------------------------------------------------------- types

struct weft_f16 {
    unsigned short bits;
};

struct weft_bf16 {
    unsigned short bits;
};

struct weft_status {
    long long key, value;
};

template <class T, int N> struct alignas(sizeof(T) * N) weft_vec {
    static_assert(sizeof(T) * N <= 16, "a vector has 16 bytes at most");
    T at[N];
    WEFT_MEMBER T& operator[](int i) { return at[i]; }
    WEFT_MEMBER const T& operator[](int i) const { return at[i]; }
};

template <class A, class B> constexpr bool weft_same = false;
template <class A> constexpr bool weft_same<A, A> = true;
template <class T> constexpr bool weft_is_half = weft_same<T, weft_f16> || weft_same<T, weft_bf16>;
template <class T> constexpr bool weft_is_float = weft_same<T, float> || weft_same<T, double>;
template <class T> constexpr bool weft_is_bool = weft_same<T, bool>;
template <class T> constexpr int weft_bits = weft_is_bool<T> ? 1 : 8 * sizeof(T);

template <bool wide> struct weft_choice {
    using word = unsigned int;
};
template <> struct weft_choice<true> {
    using word = unsigned long long;
};
template <class T> using weft_word = typename weft_choice<sizeof(T) == 8>::word;  // unsigned, of at least T's width

// ---------------------------------------------------------------- bits

template <class To, class From> WEFT_FN To weft_bitcast(From x) {
    if constexpr (weft_is_bool<To>) {
        return x != 0;
    } else {
        static_assert(sizeof(To) == sizeof(From), "a bitcast keeps the width");
        To out;
        memcpy(&out, &x, sizeof out);
        return out;
    }
}

// ---------------------------------------------------------------- memory

template <int N, class T> WEFT_FN weft_vec<T, N> weft_load(const T* p) {
#ifdef WEFT_EMULATOR
    emulator::aligned(p, sizeof(T) * N);
#endif
    return *reinterpret_cast<const weft_vec<T, N>*>(p);
}

template <class T, int N> WEFT_FN void weft_store(T* p, weft_vec<T, N> v) {
#ifdef WEFT_EMULATOR
    emulator::aligned(p, sizeof(T) * N);
#endif
    *reinterpret_cast<weft_vec<T, N>*>(p) = v;
}

#ifdef WEFT_EMULATOR
template <int N, class T> WEFT_FN weft_vec<T, N> weft_load_streaming(const T* p) { return weft_load<N>(p); }
template <class T, int N> WEFT_FN void weft_store_streaming(T* p, weft_vec<T, N> v) { weft_store(p, v); }
template <class T> WEFT_FN T* weft_shared(int offset) { return reinterpret_cast<T*>(emulator::shared + offset); }
#else
template <int bytes> struct weft_piece;
template <> struct weft_piece<1> {
    using type = unsigned char;
};
template <> struct weft_piece<2> {
    using type = unsigned short;
};
template <> struct weft_piece<4> {
    using type = unsigned int;
};
template <> struct weft_piece<8> {
    using type = uint2;
};
template <> struct weft_piece<16> {
    using type = uint4;
};

template <int N, class T> WEFT_FN weft_vec<T, N> weft_load_streaming(const T* p) {
    using Piece = typename weft_piece<sizeof(T) * N>::type;
    return weft_bitcast<weft_vec<T, N>>(__ldcs(reinterpret_cast<const Piece*>(p)));
}

template <class T, int N> WEFT_FN void weft_store_streaming(T* p, weft_vec<T, N> v) {
    using Piece = typename weft_piece<sizeof(T) * N>::type;
    __stcs(reinterpret_cast<Piece*>(p), weft_bitcast<Piece>(v));
}

extern __shared__ __align__(128) unsigned char weft_dynamic[];
template <class T> WEFT_FN T* weft_shared(int offset) { return reinterpret_cast<T*>(weft_dynamic + offset); }
#endif

template <class... P> WEFT_FN bool weft_aligned(const P*... p) {
    return ((reinterpret_cast<unsigned long long>(p) | ...) & 15) == 0;
}

template <int N, class T> WEFT_FN weft_vec<T, N> weft_load(const T* p, bool aligned) {
    if (aligned) return weft_load<N>(p);
    weft_vec<T, N> v;
#pragma unroll
    for (int i = 0; i < N; i++) v[i] = p[i];
    return v;
}

template <class T, int N> WEFT_FN void weft_store(T* p, weft_vec<T, N> v, bool aligned) {
    if (aligned) return weft_store(p, v);
#pragma unroll
    for (int i = 0; i < N; i++) p[i] = v[i];
}

template <class T, int N> WEFT_FN void weft_store_streaming(T* p, weft_vec<T, N> v, bool aligned) {
    if (aligned) return weft_store_streaming(p, v);
    weft_store(p, v, false);
}

// ---------------------------------------------------------------- integers

template <class T> WEFT_FN T weft_add(T a, T b) { return static_cast<T>(weft_word<T>(a) + weft_word<T>(b)); }
template <class T> WEFT_FN T weft_sub(T a, T b) { return static_cast<T>(weft_word<T>(a) - weft_word<T>(b)); }
template <class T> WEFT_FN T weft_mul(T a, T b) { return static_cast<T>(weft_word<T>(a) * weft_word<T>(b)); }
template <class T> WEFT_FN T weft_neg(T a) { return static_cast<T>(weft_word<T>(0) - weft_word<T>(a)); }

template <class T> WEFT_FN T weft_floordiv(T a, T b) {
    if constexpr (T(-1) < T(0)) {
        if (b == T(-1)) return weft_neg(a);
        T by = b == T(0) ? T(1) : b, q = a / by, rest = a - q * by;
        return b == T(0) ? T(0) : rest != T(0) && (rest ^ b) < 0 ? q - T(1) : q;
    } else {
        return b == T(0) ? T(0) : a / b;
    }
}

WEFT_FN float weft_fmod(float a, float b) { return fmodf(a, b); }
WEFT_FN double weft_fmod(double a, double b) { return fmod(a, b); }

template <class T> WEFT_FN T weft_mod(T a, T b) {
    if constexpr (weft_is_float<T>) {
        T rest = weft_fmod(a, b);
        if (b == T(0)) return rest;
        if (rest == T(0)) return b < T(0) ? -T(0) : T(0);
        return (b < T(0)) != (rest < T(0)) ? rest + b : rest;
    } else if constexpr (T(-1) < T(0)) {
        if (b == T(0) || b == T(-1)) return T(0);
        T rest = a % b;
        return rest != T(0) && (rest ^ b) < 0 ? rest + b : rest;
    } else {
        return b == T(0) ? T(0) : a % b;
    }
}

template <class T> WEFT_FN T weft_shl(T a, T by) {
    return weft_word<T>(by) < weft_bits<T> ? static_cast<T>(weft_word<T>(a) << int(by)) : T(0);
}

template <class T> WEFT_FN T weft_shr(T a, T by) {
    bool inside = weft_word<T>(by) < weft_bits<T>;
    if constexpr (T(-1) < T(0)) return a >> (inside ? int(by) : weft_bits<T> - 1);
    return inside ? a >> int(by) : T(0);
}

WEFT_FN long long weft_clamped(long long value, long long extent) {
    return 0 <= value && value < extent ? value : 0;
}

// ---------------------------------------------------------------- floats

WEFT_FN float weft_floor(float x) { return floorf(x); }
WEFT_FN double weft_floor(double x) { return floor(x); }
WEFT_FN float weft_sqrt(float x) { return __fsqrt_rn(x); }
WEFT_FN double weft_sqrt(double x) { return __dsqrt_rn(x); }
WEFT_FN float weft_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
WEFT_FN double weft_fma(double a, double b, double c) { return __fma_rn(a, b, c); }

template <class T> WEFT_FN T weft_max(T a, T b) { return a >= b || a != a ? a : b; }

// In two multiplications by powers of two, of which the first is exact wherever the result is not 0 or infinite.
WEFT_FN float weft_ldexp(float x, int n) {
    n = n < -252 ? -252 : n > 254 ? 254 : n;
    int half = n >> 1;
    return x * weft_bitcast<float>((half + 127) << 23) * weft_bitcast<float>((n - half + 127) << 23);
}

WEFT_FN double weft_ldexp(double x, long long n) {
    n = n < -2044 ? -2044 : n > 2046 ? 2046 : n;
    long long half = n >> 1;
    return x * weft_bitcast<double>((half + 1023) << 52) * weft_bitcast<double>((n - half + 1023) << 52);
}

// ---------------------------------------------------------------- 16-bit floats: to nearest, ties to even; NaN stays NaN

WEFT_FN float weft_widen(weft_bf16 x) { return weft_bitcast<float>(static_cast<unsigned>(x.bits) << 16); }

#ifdef WEFT_EMULATOR
WEFT_FN float weft_widen(weft_f16 x) { return weft_bitcast<_Float16>(x.bits); }
WEFT_FN unsigned short weft_f16_bits(float x) { return weft_bitcast<unsigned short>(static_cast<_Float16>(x)); }
WEFT_FN unsigned short weft_f16_bits(double x) { return weft_bitcast<unsigned short>(static_cast<_Float16>(x)); }
#else
WEFT_FN float weft_widen(weft_f16 x) {
    float out;
    asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
    return out;
}

WEFT_FN unsigned short weft_f16_bits(float x) {
    unsigned short out;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out) : "f"(x));
    return out;
}

WEFT_FN unsigned short weft_f16_bits(double x) {
    unsigned short out;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(out) : "d"(x));
    return out;
}
#endif

WEFT_FN unsigned short weft_bf16_bits(float x) {
#if __CUDA_ARCH__ >= 800
    unsigned short out;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out) : "f"(x));
    return out;
#else
    unsigned bits = weft_bitcast<unsigned>(x);
    if (x != x) return bits >> 16 | 0x40;
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}

// A double as a float that rounds to fewer digits as the double does: cut off, with a last bit for what was lost.
WEFT_FN float weft_cut(double x) {
    float near = static_cast<float>(x);
    if (near == x || x != x) return near;
    unsigned bits = weft_bitcast<unsigned>(near);
    bool beyond = (near < 0 ? -near : near) > (x < 0 ? -x : x);
    return weft_bitcast<float>((beyond ? bits - 1 : bits) | 1);
}

WEFT_FN unsigned short weft_bf16_bits(double x) { return weft_bf16_bits(weft_cut(x)); }

// An integer as a double that rounds to the digits of a 16-bit float as the integer does.
template <class T> WEFT_FN double weft_from_integer(T x) {
    if constexpr (sizeof(T) == 8) {
        if (x >> 53 != 0 && x >> 53 != T(-1)) return static_cast<double>(x >> 11 | ((x & 2047) != 0)) * 2048.0;
    }
    return static_cast<double>(x);
}

template <class To, class From> WEFT_FN To weft_narrow(From x) {
    if constexpr (!weft_is_float<From>) {
        return weft_narrow<To>(weft_from_integer(x));
    } else if constexpr (weft_same<To, weft_f16>) {
        return {weft_f16_bits(x)};
    } else {
        return {weft_bf16_bits(x)};
    }
}

template <class H> WEFT_FN unsigned weft_pack(float low, float high) {
    return weft_narrow<H>(low).bits | static_cast<unsigned>(weft_narrow<H>(high).bits) << 16;
}

// ---------------------------------------------------------------- casts

template <class To, class From> WEFT_FN To weft_saturate(From x) {
    constexpr bool is_signed = To(-1) < To(0);
    constexpr To high = static_cast<To>(~weft_word<To>(0) >> (8 * (sizeof(weft_word<To>) - sizeof(To)) + is_signed));
    constexpr To low = is_signed ? -high - 1 : 0;
    constexpr From above = From(high / 2 + 1) * 2;  // the power of two behind `high`
    if (!(x > From(low))) return x != x ? To(0) : low;
    return x >= above ? high : static_cast<To>(x);
}

template <class To, class From> WEFT_FN To weft_cast(From x) {
    if constexpr (weft_same<To, From>) {
        return x;
    } else if constexpr (weft_is_half<From>) {
        return weft_cast<To>(weft_widen(x));
    } else if constexpr (weft_is_half<To>) {
        return weft_narrow<To>(x);
    } else if constexpr (weft_is_bool<To>) {
        return x != From(0);
    } else if constexpr (weft_is_float<From> && !weft_is_float<To>) {
        return weft_saturate<To>(x);
    } else {
        return static_cast<To>(x);
    }
}

// ---------------------------------------------------------------- threads and reductions

WEFT_FN int weft_lane() { return threadIdx.x & 31; }
WEFT_FN int weft_warp() { return threadIdx.x >> 5; }

// What waits for other threads takes the line of its caller, which the emulator names.
#ifdef WEFT_EMULATOR
WEFT_FN void weft_barrier(int line = __builtin_LINE()) { emulator::block_barrier(line); }
WEFT_FN void weft_warp_barrier(int line = __builtin_LINE()) { emulator::warp_barrier(line); }
template <class T> WEFT_FN T weft_of_lane(T x, int lane, int line) { return emulator::shuffle(line, x, lane); }
template <class T> WEFT_FN T weft_lanes_apart(T x, int apart, int line) { return weft_of_lane(x, weft_lane() ^ apart, line); }
template <class T> WEFT_FN T* weft_partials() { return reinterpret_cast<T*>(emulator::partials); }
#else
WEFT_FN void weft_barrier(int = 0) { __syncthreads(); }
WEFT_FN void weft_warp_barrier(int = 0) { __syncwarp(); }
template <class T> WEFT_FN T weft_of_lane(T x, int lane, int) { return static_cast<T>(__shfl_sync(0xffffffffu, x, lane)); }
template <class T> WEFT_FN T weft_lanes_apart(T x, int apart, int) {
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, x, apart));
}
WEFT_FN void* weft_partials_memory() {  // no template: one for all types of a kernel
    __shared__ double partials[32];
    return partials;
}
template <class T> WEFT_FN T* weft_partials() { return static_cast<T*>(weft_partials_memory()); }
#endif

struct weft_sum {
    template <class T> static WEFT_MEMBER T of(T a, T b) {
        if constexpr (weft_is_bool<T>) return a || b;
        else if constexpr (weft_is_float<T>) return a + b;
        else return weft_add(a, b);
    }
};

struct weft_product {
    template <class T> static WEFT_MEMBER T of(T a, T b) {
        if constexpr (weft_is_bool<T>) return a && b;
        else if constexpr (weft_is_float<T>) return a * b;
        else return weft_mul(a, b);
    }
};

struct weft_largest {
    template <class T> static WEFT_MEMBER T of(T a, T b) { return weft_max(a, b); }
};

template <class Op, class T> WEFT_FN T weft_combine(T a, T b) { return Op::of(a, b); }

// A tree of lanes 16, 8, 4, 2 and 1 apart. Of 0.0 and -0.0, or of two NaNs, lanes keep different ones: all get that of lane 0.
template <class Op, class T> WEFT_FN T weft_warp_reduce(T x, int line = __builtin_LINE()) {
#pragma unroll
    for (int apart = 16; apart; apart >>= 1) x = Op::of(x, weft_lanes_apart(x, apart, line));
    return weft_same<Op, weft_largest> ? weft_of_lane(x, 0, line) : x;
}

template <class Op, int threads, class T> WEFT_FN T weft_block_reduce(T x, int line = __builtin_LINE()) {
    static_assert(threads % 32 == 0 && threads <= 1024, "a block is whole warps");
    x = weft_warp_reduce<Op>(x, line);
    if constexpr (threads == 32) return x;
    T* partials = weft_partials<T>();
    if (weft_lane() == 0) partials[weft_warp()] = x;
    weft_barrier(line);
    x = partials[0];
#pragma unroll
    for (int warp = 1; warp < threads / 32; warp++) x = Op::of(x, partials[warp]);
    weft_barrier(line);
    return x;
}

// ---------------------------------------------------------------- checks

#ifdef WEFT_EMULATOR
WEFT_FN unsigned long long weft_look(unsigned long long* p) { return __atomic_load_n(p, __ATOMIC_RELAXED); }
#else
WEFT_FN unsigned long long weft_look(unsigned long long* p) { return *static_cast<volatile unsigned long long*>(p); }
#endif

// The key is held at `taken` while its value is written, so that the two always belong together. Keys only decrease.
WEFT_FN void weft_fail(weft_status* status, long long site, long long position, long long value) {
    constexpr unsigned long long taken = ~1ull;
    unsigned long long* key = reinterpret_cast<unsigned long long*>(&status->key);
    unsigned long long mine = static_cast<unsigned long long>(site) << 40 | static_cast<unsigned long long>(position);
    unsigned long long seen = weft_look(key);
    while (seen == taken || mine < seen) {
        unsigned long long before = seen == taken ? taken : atomicCAS(key, seen, taken);
        if (before == seen && seen != taken) {
            *static_cast<volatile long long*>(&status->value) = value;
            __threadfence();
            atomicExch(key, mine);
            return;
        }
        seen = weft_look(key);
    }
}

WEFT_FN void weft_check(weft_status* status, long long value, long long extent, long long site, long long position) {
    if (!(0 <= value && value < extent)) weft_fail(status, site, position, value);
}

// ---------------------------------------------------------------- asynchronous copies

#ifdef WEFT_EMULATOR
template <int bytes> WEFT_FN void weft_cp_async(void* to, const void* from, bool valid = true) {
    emulator::copy_async(to, from, bytes, valid);
}
WEFT_FN void weft_cp_async_commit() { emulator::copy_commit(); }
template <int groups> WEFT_FN void weft_cp_async_wait() { emulator::copy_wait(groups); }
#elif __CUDA_ARCH__ >= 800
template <int bytes> WEFT_FN void weft_cp_async(void* to, const void* from, bool valid = true) {
    static_assert(bytes == 4 || bytes == 8 || bytes == 16, "cp.async copies 4, 8 or 16 bytes");
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(to));
    int present = valid ? bytes : 0;
    if constexpr (bytes == 16) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(present) : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(bytes), "r"(present) : "memory");
    }
}
WEFT_FN void weft_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups> WEFT_FN void weft_cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory"); }
#else
template <int bytes> WEFT_FN void weft_cp_async(void* to, const void* from, bool valid = true) {
    weft_vec<int, bytes / 4> v = {};
    if (valid) v = weft_load<bytes / 4>(static_cast<const int*>(from));
    weft_store(static_cast<int*>(to), v);
}
WEFT_FN void weft_cp_async_commit() {}
template <int groups> WEFT_FN void weft_cp_async_wait() {}
#endif

template <int N, class T> WEFT_FN void weft_copy_async(T* to, const T* from, bool valid, bool aligned) {
    if (aligned) return weft_cp_async<N * static_cast<int>(sizeof(T))>(to, from, valid);
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = valid ? from[i] : T{};
}

// ---------------------------------------------------------------- matrix fragments and products

#ifdef WEFT_EMULATOR
#define WEFT_LDMATRIX(name, count, transposed)                                                  \
    WEFT_FN void name(unsigned (&r)[count], const void* row, int line = __builtin_LINE()) {     \
        emulator::matrices(line, r, count, row, transposed);                                    \
    }
WEFT_LDMATRIX(weft_ldmatrix_x4, 4, false)
WEFT_LDMATRIX(weft_ldmatrix_x2, 2, false)
WEFT_LDMATRIX(weft_ldmatrix_x4_trans, 4, true)
WEFT_LDMATRIX(weft_ldmatrix_x2_trans, 2, true)
#undef WEFT_LDMATRIX
#else
#define WEFT_LDMATRIX_X4(name, kind)                                                                                           \
    WEFT_FN void name(unsigned (&r)[4], const void* row) {                                                                     \
        asm volatile("ldmatrix.sync.aligned.m8n8.x4" kind ".shared.b16 {%0, %1, %2, %3}, [%4];"                                \
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                                                          \
                     : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))                                               \
                     : "memory");                                                                                              \
    }
#define WEFT_LDMATRIX_X2(name, kind)                                                                                           \
    WEFT_FN void name(unsigned (&r)[2], const void* row) {                                                                     \
        asm volatile("ldmatrix.sync.aligned.m8n8.x2" kind ".shared.b16 {%0, %1}, [%2];"                                        \
                     : "=r"(r[0]), "=r"(r[1])                                                                                  \
                     : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))                                               \
                     : "memory");                                                                                              \
    }
WEFT_LDMATRIX_X4(weft_ldmatrix_x4, "")
WEFT_LDMATRIX_X4(weft_ldmatrix_x4_trans, ".trans")
WEFT_LDMATRIX_X2(weft_ldmatrix_x2, "")
WEFT_LDMATRIX_X2(weft_ldmatrix_x2_trans, ".trans")
#undef WEFT_LDMATRIX_X4
#undef WEFT_LDMATRIX_X2
#endif

#ifdef WEFT_EMULATOR
WEFT_FN unsigned weft_tf32(float x) {
    unsigned bits = weft_bitcast<unsigned>(x);
    return (x != x ? bits | 0x400000u : bits + 0x1000u) & 0xffffe000u;
}
WEFT_FN void weft_mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], int line = __builtin_LINE()) {
    emulator::multiply(line, d, a, b, 2, [](unsigned word, int half) {
        return weft_widen(weft_bf16{static_cast<unsigned short>(word >> 16 * half)});
    });
}
WEFT_FN void weft_mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], int line = __builtin_LINE()) {
    emulator::multiply(line, d, a, b, 2, [](unsigned word, int half) {
        return weft_widen(weft_f16{static_cast<unsigned short>(word >> 16 * half)});
    });
}
WEFT_FN void weft_mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], int line = __builtin_LINE()) {
    emulator::multiply(line, d, a, b, 1, [](unsigned word, int) { return weft_bitcast<float>(word & 0xffffe000u); });
}
#elif defined(WEFT_HAS_MMA)
WEFT_FN unsigned weft_tf32(float x) {
    unsigned out;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(out) : "f"(x));
    return out;
}
#define WEFT_MMA(name, kind)                                                                                                   \
    WEFT_FN void name(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {                                         \
        asm volatile("mma.sync.aligned." kind " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"               \
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                          \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                                      \
    }
WEFT_MMA(weft_mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32")
WEFT_MMA(weft_mma_f16, "m16n8k16.row.col.f32.f16.f16.f32")
WEFT_MMA(weft_mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef WEFT_MMA
#endif

// ---------------------------------------------------------------- products of tiles

#ifdef WEFT_HAS_MMA
// 16 rows at 32 bytes of steps: a of weft_mma
template <int across, int along, class T> WEFT_FN void weft_rows(unsigned (&r)[4], const T* p) {
    const int l = weft_lane();
    if constexpr (along == 1) {
        weft_ldmatrix_x4(r, p + l % 16 * across + l / 16 * (16 / int(sizeof(T))));
    } else if constexpr (weft_is_half<T>) {
        weft_ldmatrix_x4_trans(r, p + (l % 8 + l / 16 * 8) * along + l / 8 % 2 * 8);
    } else {
#pragma unroll
        for (int q = 0; q < 4; q++) r[q] = weft_bitcast<unsigned>(p[(l % 4 + q / 2 * 4) * along + l / 4 + q % 2 * 8]);
    }
}

// 2 x 8 lanes at 32 bytes of steps: b of weft_mma for the first 8, then for the others
template <int across, int along, class T> WEFT_FN void weft_lanes(unsigned (&r)[4], const T* p) {
    const int l = weft_lane();
    if constexpr (along == 1) {
        weft_ldmatrix_x4(r, p + (l % 8 + l / 16 * 8) * across + l / 8 % 2 * (16 / int(sizeof(T))));
    } else if constexpr (weft_is_half<T>) {
        weft_ldmatrix_x4_trans(r, p + l % 16 * along + l / 16 * 8);
    } else {
#pragma unroll
        for (int q = 0; q < 4; q++) r[q] = weft_bitcast<unsigned>(p[(l % 4 + q % 2 * 4) * along + l / 4 + q / 2 * 8]);
    }
}

template <class T> WEFT_FN void weft_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    if constexpr (weft_same<T, weft_bf16>) {
        weft_mma_bf16(d, a, b);
    } else if constexpr (weft_same<T, weft_f16>) {
        weft_mma_f16(d, a, b);
    } else {
        weft_mma_tf32(d, a, b);
    }
}

template <int count> WEFT_FN void weft_round(unsigned (&r)[count][4]) {
#pragma unroll
    for (int i = 0; i < 4 * count; i++) r[i / 4][i % 4] = weft_tf32(weft_bitcast<float>(r[i / 4][i % 4]));
}

template <int rows, int lanes, int steps, int warps, int a_across, int a_along, int b_across, int b_along, class T>
WEFT_FN void weft_multiply(float (&sums)[rows * lanes / 32], const T* a, const T* b) {
    constexpr int squares = lanes / 8;
    a += weft_warp() / warps * rows * a_across;
    b += weft_warp() % warps * lanes * b_across;
#pragma unroll
    for (int k = 0; k < steps; k += 32 / int(sizeof(T))) {
        unsigned row[rows / 16][4], lane[lanes / 16][4];
#pragma unroll
        for (int i = 0; i < rows / 16; i++) weft_rows<a_across, a_along>(row[i], a + 16 * i * a_across + k * a_along);
#pragma unroll
        for (int j = 0; j < lanes / 16; j++) weft_lanes<b_across, b_along>(lane[j], b + 16 * j * b_across + k * b_along);
        if constexpr (!weft_is_half<T>) {
            weft_round(row);
            weft_round(lane);
        }
#pragma unroll
        for (int i = 0; i < rows / 16; i++) {
#pragma unroll
            for (int j = 0; j < squares; j++) {
                float(&sum)[4] = reinterpret_cast<float(&)[4]>(sums[4 * (i * squares + j)]);
                weft_mma<T>(sum, row[i], reinterpret_cast<const unsigned(&)[2]>(lane[j / 2][j % 2 * 2]));
            }
        }
    }
}
#endif
