// The emulated device as kernels and its own parts see it: one thread, the block that runs, and what a thread may wait for.
#pragma once

namespace emulator {

struct Extent {
    unsigned x, y, z;
};

struct Thread {
    Extent index;
    int lane, warp;
};

template <int...> struct Numbers {};

extern Thread* current;
extern Extent block, block_extent, grid_extent;
extern char* shared;      // dynamic shared memory
extern double* partials;  // static shared memory of block reductions

void block_barrier(int line);
void warp_barrier(int line);
const unsigned (*exchange(int line, const unsigned* words, int count))[8];  // the words of all lanes
void copy_async(void* to, const void* from, int bytes, bool valid);
void copy_commit();
void copy_wait(int groups);
void misaligned(const void* p, int bytes);
void matrix_begins(const void* row, bool used);  // what a thread reads until matrix_ends() is one row
void matrix_ends();

inline void aligned(const void* p, int bytes) {
    if (reinterpret_cast<unsigned long long>(p) % bytes) misaligned(p, bytes);
}

}  // namespace emulator
