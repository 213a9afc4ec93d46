// The emulated device. In: kernels as functions of packed arguments, grids, blocks. Out: what they do, or what they did wrong.
//
// One block runs at a time, each of its threads on a fiber until it waits for others. Threads run in forward, reverse or random
// order; shared memory is NaN before each block; asynchronous copies arrive as late as they may, over targets poisoned at once.
#include <signal.h>

#include <cstdarg>
#include <cstdint>
#include <vector>

#include "memory.h"
#include "thread.h"

namespace emulator {

enum State { RUNS, AT_WARP, AT_BLOCK, FINISHED };
enum Order { FORWARD, REVERSE, RANDOM };

struct Copy {
    void* to;
    const void* from;
    int bytes, present;
};

struct Lane : Thread {
    Fiber fiber;
    State state;
    int line, exchanges, barriers, warp_barriers;
    std::vector<Copy> copies;           // not yet arrived
    std::vector<std::size_t> groups;    // ends of committed groups of copies
};

struct Warp {
    unsigned words[2][32][8];  // by the parity of the exchange: a fast lane may be one ahead
};

// What a block has besides its dynamic shared memory.
struct Static {
    double partials[32];
    long long barriers[2], warp_barriers[32][2];  // what they order, for ThreadSanitizer, by the parity of the barrier
};

Thread* current;
Extent block, block_extent, grid_extent;
char* shared;
double* partials;

static Lane lanes[1024];
static Warp warps[32];
static Fiber scheduler;
static Guarded dynamic, fixed;  // shared memory
static Static* own;             // the contents of `fixed`
static int threads, prepared;
static char failure[1024];
static long long started, finished;  // what a launch orders: its start before all threads, these before its end
static int order, late;
static std::uint64_t random_state;
static void (*kernel)(const long long*);
static const long long* kernel_words;

// ---------------------------------------------------------------- switching

static Lane* running() { return static_cast<Lane*>(current); }

static void to_scheduler() { switch_fibers(running()->fiber, scheduler); }

static void resume(Lane& lane) {
    current = &lane;
    switch_fibers(scheduler, lane.fiber);
    current = nullptr;
}

static void note(const char* format, ...) {
    if (failure[0]) return;
    va_list rest;
    va_start(rest, format);
    int used = std::snprintf(failure, sizeof failure, "block %u: ", block.x);
    std::vsnprintf(failure + used, sizeof failure - used, format, rest);
    va_end(rest);
}

static void fiber_body() {
    for (;;) {
        __tsan_acquire(&started);
        kernel(kernel_words);
        __tsan_release(&finished);
        running()->state = FINISHED;
        to_scheduler();
    }
}

// ---------------------------------------------------------------- what threads call

void block_barrier(int line) {
    Lane& me = *running();
    me.line = line;
    me.state = AT_BLOCK;
    long long* ordered = &own->barriers[me.barriers++ & 1];  // alternate, else a fast thread's next arrival would hide a race
    __tsan_release(ordered);
    to_scheduler();
    __tsan_acquire(ordered);
}

static void wait_for_warp(int line) {
    Lane& me = *running();
    me.line = line;
    me.state = AT_WARP;
    to_scheduler();
}

void warp_barrier(int line) {
    long long* ordered = &own->warp_barriers[current->warp][running()->warp_barriers++ & 1];
    __tsan_release(ordered);
    wait_for_warp(line);
    __tsan_acquire(ordered);
}

const unsigned (*exchange(int line, const unsigned* words, int count))[8] {
    auto slots = warps[current->warp].words[running()->exchanges++ & 1];
    for (int i = 0; i < count; i++) slots[current->lane][i] = words[i];
    wait_for_warp(line);
    return slots;
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
    Copy copy = {to, from, bytes, valid ? bytes : 0};
    if (!late) return arrive(copy);
    std::memset(to, POISON, bytes);
    running()->copies.push_back(copy);
}

void copy_commit() { running()->groups.push_back(running()->copies.size()); }

void copy_wait(int allowed) {
    Lane& me = *running();
    int done = int(me.groups.size()) - allowed;
    if (done <= 0) return;
    std::size_t end = me.groups[done - 1];
    for (std::size_t i = 0; i < end; i++) arrive(me.copies[i]);
    me.copies.erase(me.copies.begin(), me.copies.begin() + end);
    me.groups.erase(me.groups.begin(), me.groups.begin() + done);
    for (std::size_t& group : me.groups) group -= end;
}

// ---------------------------------------------------------------- shared memory

static bool make_shared_memory(std::size_t bytes) {
    if (!dynamic.make(bytes, 128) || !fixed.make(sizeof(Static), alignof(Static))) return false;
    own = reinterpret_cast<Static*>(fixed.address);
    partials = own->partials;
    shared = dynamic.address;
    return true;
}

static void drop_shared_memory() {
    dynamic.drop();
    fixed.drop();
}

// ---------------------------------------------------------------- the scheduler

static unsigned random_below(unsigned n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return unsigned(random_state >> 32) % n;
}

static void arrange(unsigned* places, unsigned n) {
    for (unsigned i = 0; i < n; i++) places[i] = order == REVERSE ? n - 1 - i : i;
    if (order != RANDOM) return;
    for (unsigned i = n; i-- > 1;) std::swap(places[i], places[random_below(i + 1)]);
}

// Lets all lanes of a warp pass the one place at which they wait for each other; false where some are elsewhere.
static bool release_warp(Lane* warp, int count) {
    const Lane *waiting = nullptr, *elsewhere = nullptr;
    for (int i = 0; i < count; i++) {
        const Lane& lane = warp[i];
        if (lane.state != AT_WARP)
            elsewhere = &lane;
        else if (!waiting)
            waiting = &lane;
        else if (lane.line != waiting->line)
            note("thread %u waits for its warp at line %d, thread %u at line %d", waiting->index.x, waiting->line, lane.index.x, lane.line);
    }
    if (!waiting) return false;
    if (elsewhere)
        note("thread %u, line %d: waits for its warp, of which thread %u %s", waiting->index.x, waiting->line, elsewhere->index.x,
             elsewhere->state == FINISHED ? "has finished" : "waits for the block");
    for (int i = 0; i < count; i++) warp[i].state = RUNS;
    return true;
}

// Runs a warp until each of its lanes has finished or waits for the block.
static void run_warp(Lane* warp, int count) {
    unsigned places[32];
    do {
        arrange(places, count);
        for (int i = 0; i < count && !failure[0]; i++)
            if (warp[places[i]].state == RUNS) resume(warp[places[i]]);
    } while (!failure[0] && release_warp(warp, count));
}

// Lets all threads pass a barrier; false where all have finished.
static bool release_block() {
    int finished = 0;
    Lane* first = nullptr;
    for (int i = 0; i < threads; i++) {
        finished += lanes[i].state == FINISHED;
        if (lanes[i].state != AT_BLOCK) continue;
        if (!first) first = &lanes[i];
        if (lanes[i].line != first->line)
            note("thread %u waits for the block at line %d, thread %d at line %d", first->index.x, first->line, i, lanes[i].line);
    }
    if (!first) return false;
    if (finished) note("line %d: a barrier is not reached by %d of %d threads, which have finished", first->line, finished, threads);
    for (int i = 0; i < threads; i++) lanes[i].state = RUNS;
    return true;
}

static void renew_shared_memory() {
#ifdef WEFT_TSAN  // new pages, of which it knows nothing: blocks are not ordered, what one left behind would be a race
    std::size_t bytes = dynamic.size;
    drop_shared_memory();
    make_shared_memory(bytes);
#else
    std::memset(shared, POISON, dynamic.size);
    std::memset(partials, POISON, sizeof own->partials);
#endif
    __tsan_release(&started);
}

static void run_block() {
    renew_shared_memory();
    for (int i = 0; i < threads; i++) {
        lanes[i].state = RUNS;
        lanes[i].exchanges = lanes[i].barriers = lanes[i].warp_barriers = 0;
        lanes[i].copies.clear();
        lanes[i].groups.clear();
    }
    unsigned places[32], count = (threads + 31) / 32;
    do {
        arrange(places, count);
        for (unsigned i = 0; i < count && !failure[0]; i++) {
            int start = 32 * places[i];
            run_warp(lanes + start, threads - start < 32 ? threads - start : 32);
        }
    } while (!failure[0] && release_block() && !failure[0]);
    if (!dynamic.intact()) note("written behind the shared memory of %zu bytes", dynamic.size);
}

// ---------------------------------------------------------------- faults

static void on_fault(int signal, siginfo_t* info, void*) {
    if (!current) {  // not a kernel's doing
        ::signal(signal, SIG_DFL);
        return;
    }
    const char* at = static_cast<const char*>(info->si_addr);
    char where[200] = "";
    if (dynamic.guards(at))
        dynamic.describe(at, "the shared memory", where, sizeof where);
    else if (const Guarded* found = allocation_around(at))
        found->describe(at, "an allocation", where, sizeof where);
    else if (is_freed(at))
        std::snprintf(where, sizeof where, ", which was freed");
    else if (running()->fiber.stack - PAGE <= at && at < running()->fiber.stack)
        std::snprintf(where, sizeof where, ", below the stack");
    note("thread %u: %s at address %p%s", current->index.x, signal == SIGFPE ? "arithmetic fault" : "illegal memory access", at, where);
    to_scheduler();  // the fiber is not resumed
}

class Faults {
    static constexpr int signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
    struct sigaction before[3];
    stack_t stack_before;

   public:
    Faults() {
        static char stack[64 * 1024];
        stack_t alternate = {};
        alternate.ss_sp = stack;
        alternate.ss_size = sizeof stack;
        sigaltstack(&alternate, &stack_before);
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int i = 0; i < 3; i++) sigaction(signals[i], &action, &before[i]);
    }

    ~Faults() {
        for (int i = 0; i < 3; i++) sigaction(signals[i], &before[i], nullptr);
        sigaltstack(&stack_before, nullptr);
    }
};

// ---------------------------------------------------------------- launches

static void prepare_threads(unsigned count) {
    threads = int(count);
    for (int i = 0; i < threads; i++) {
        lanes[i].index = {unsigned(i), 0, 0};
        lanes[i].lane = i % 32;
        lanes[i].warp = i / 32;
    }
    for (; prepared < threads; prepared++) lanes[prepared].fiber.prepare(fiber_body);
    scheduler.sanitizer = __tsan_get_current_fiber();
}

static void run_grid(unsigned grid) {
    std::vector<unsigned> places(grid);
    arrange(places.data(), grid);
    for (unsigned i = 0; i < grid && !failure[0]; i++) {
        block = {places[i], 0, 0};
        run_block();
    }
}

static void check_arguments(const long long* words, int count) {
    for (int i = 0; i < count && !failure[0]; i++) {
        const Guarded* found = allocation_around(reinterpret_cast<const void*>(words[i]));
        if (found && !found->intact()) note("or another one wrote behind an allocation of %zu bytes (argument %d)", found->size, i);
    }
}

}  // namespace emulator

using namespace emulator;

extern "C" {

// Runs a kernel; gives null, or what went wrong. `order`: 0 forward, 1 reverse, 2 random by the seed.
const char* emulator_launch(void (*run)(const long long*), const long long* words, int count, unsigned grid, unsigned block_threads,
                            std::size_t shared_bytes, int thread_order, std::uint64_t seed, int late_copies) {
    failure[0] = 0;
    kernel = run;
    kernel_words = words;
    order = thread_order;
    late = late_copies;
    random_state = seed * 0x9E3779B97F4A7C15u + 0x1234567812345678u;
    grid_extent = {grid, 1, 1};
    block_extent = {block_threads, 1, 1};
    prepare_threads(block_threads);
    if (!make_shared_memory(shared_bytes)) return "no memory for shared memory";
    {
#ifndef WEFT_TSAN  // which has handlers of its own
        Faults handled;
#endif
        run_grid(grid);
    }
    __tsan_acquire(&finished);
    check_arguments(words, count);
    drop_shared_memory();
    if (!failure[0]) return nullptr;
    prepared = 0;  // some fibers stand in the middle of the kernel
    return failure;
}

std::uint64_t emulator_allocate(std::size_t bytes) {
    Guarded made;
    if (!made.make(bytes, 256)) return 0;
    allocations[made.pages] = made;
    return reinterpret_cast<std::uint64_t>(made.address);
}

// 0, or 1: not the start of an allocation, or 2: bytes behind it were written.
int emulator_free(std::uint64_t address) {
    const char* at = reinterpret_cast<const char*>(address);
    const Guarded* found = allocation_around(at);
    if (!found || found->address != at) return 1;
    Guarded gone = *found;
    bool intact = gone.intact();
    forget(gone);
    return intact ? 0 : 2;
}

int emulator_holds(std::uint64_t address, std::size_t bytes) {
    const char* at = reinterpret_cast<const char*>(address);
    const Guarded* found = allocation_around(at);
    return found && found->holds(at, bytes);
}
}
