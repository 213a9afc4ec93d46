// What the threads of a kernel do besides computing. In: their calls. Out: waits for others, exchanged words, late copies.
#include <cstdarg>

#include "machine.h"

namespace emulator {

Machine machine;
Thread* current;
Extent block, block_extent, grid_extent;
char* shared;
double* partials;

void note(const char* format, ...) {
    if (failed()) return;
    va_list rest;
    va_start(rest, format);
    int used = std::snprintf(machine.failure, sizeof machine.failure, "block %u: ", block.x);
    std::vsnprintf(machine.failure + used, sizeof machine.failure - used, format, rest);
    va_end(rest);
}

static void wait(State state, int line) {
    Lane& me = running();
    me.state = state;
    me.line = line;
    to_scheduler();
}

// Barriers of even and odd number order by different objects, else a fast thread's next arrival would hide a race of a slow one.
void block_barrier(int line) {
    long long* ordered = &machine.own->barriers[running().barriers++ & 1];
    __tsan_release(ordered);
    wait(AT_BLOCK, line);
    __tsan_acquire(ordered);
}

void warp_barrier(int line) {
    long long* ordered = &machine.own->warp_barriers[current->warp][running().warp_barriers++ & 1];
    __tsan_release(ordered);
    wait(AT_WARP, line);
    __tsan_acquire(ordered);
}

// A fast lane may be one exchange ahead of a slow one, not two. An exchange orders no memory.
const unsigned (*exchange(int line, const unsigned* words, int count))[8] {
    static unsigned slots[32][2][32][8];
    auto of_warp = slots[current->warp][running().exchanges++ & 1];
    if (machine.threads % 32) {
        note("line %d: all lanes of a warp exchange words, but a block has %d threads", line, machine.threads);
        to_scheduler();
    }
    for (int i = 0; i < count; i++) of_warp[current->lane][i] = words[i];
    wait(AT_WARP, line);
    return of_warp;
}

void misaligned(const void* p, int bytes) {
    note("thread %u: address %p is not aligned to %d bytes", current->index.x, p, bytes);
    to_scheduler();
}

// ---------------------------------------------------------------- asynchronous copies

static void arrive(const Copy& copy) {
    std::memcpy(copy.to, copy.from, copy.present);
    std::memset(static_cast<char*>(copy.to) + copy.present, 0, copy.bytes - copy.present);
}

void copy_async(void* to, const void* from, int bytes, bool valid) {
    aligned(to, bytes);
    if (valid) aligned(from, bytes);
    copied(__builtin_return_address(0), to, valid ? from : nullptr, bytes);
    Copy copy = {to, from, bytes, valid ? bytes : 0};
    if (!machine.late_copies) return arrive(copy);
    std::memset(to, POISON, bytes);
    running().copies.push_back(copy);
}

void copy_commit() { running().groups.push_back(running().copies.size()); }

void copy_wait(int allowed) {
    Lane& me = running();
    int done = int(me.groups.size()) - allowed;
    if (done <= 0) return;
    std::size_t end = me.groups[done - 1];
    for (std::size_t i = 0; i < end; i++) arrive(me.copies[i]);
    me.copies.erase(me.copies.begin(), me.copies.begin() + end);
    me.groups.erase(me.groups.begin(), me.groups.begin() + done);
    for (std::size_t& group : me.groups) group -= end;
}

}  // namespace emulator
