// The state of the emulated device, which its parts share. In: nothing. Out: threads and their fibers, the block that runs.
#pragma once
#include <cstdint>
#include <vector>

#include "memory.h"
#include "thread.h"

namespace emulator {

enum State { RUNS, AT_WARP, AT_BLOCK, FINISHED };
enum Order { FORWARD, REVERSE, RANDOM };

// An asynchronous copy that has not arrived.
struct Copy {
    void* to;
    const void* from;
    int bytes, present;
};

struct Lane : Thread {
    Fiber fiber;
    State state;
    int line, exchanges, barriers, warp_barriers;
    std::vector<Copy> copies;
    std::vector<std::size_t> groups;  // ends of committed groups of copies
};

// What a block has besides its dynamic shared memory.
struct Static {
    double partials[32];
    long long barriers[2], warp_barriers[32][2];  // what they order, for ThreadSanitizer, by the parity of the barrier
};

struct Machine {
    Lane lanes[1024];
    Fiber scheduler;
    int threads = 0, prepared = 0;
    Guarded dynamic, fixed;  // shared memory
    Static* own = nullptr;   // the contents of `fixed`
    char failure[1024] = "";
    int order = FORWARD;
    bool late_copies = true;
    std::uint64_t random_state = 1;
    void (*kernel)(const long long*) = nullptr;
    const long long* words = nullptr;
    long long started = 0, finished = 0;  // what a launch orders: its start before all threads, these before its end
};

extern Machine machine;

inline Lane& running() { return *static_cast<Lane*>(current); }

inline void to_scheduler() { switch_fibers(running().fiber, machine.scheduler); }

inline bool failed() { return machine.failure[0]; }

[[gnu::format(printf, 1, 2)]] void note(const char* format, ...);  // the first mistake is kept
bool make_shared_memory(std::size_t bytes);
void drop_shared_memory();
void copied(const void* code, const void* to, const void* from, int bytes);  // for the log of accesses
void arrange(unsigned* places, unsigned n);  // 0 .. n - 1 in the order of this launch
void run_block();

}  // namespace emulator
