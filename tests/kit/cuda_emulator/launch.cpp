// The emulated device as Python sees it. In: kernels as functions of packed arguments, grids. Out: null, or their mistake.
//
// One block runs at a time, each of its threads on a fiber until it waits for others. Blocks, warps and lanes run in forward,
// reverse or random order; shared memory is NaN before each block; asynchronous copies arrive as late as they may.
#include <signal.h>

#include "machine.h"

namespace emulator {

// ---------------------------------------------------------------- faults

static void describe(const char* at, char* text, std::size_t room) {
    const char* stack = running().fiber.stack;
    if (machine.dynamic.guards(at))
        machine.dynamic.describe(at, "the shared memory", text, room);
    else if (const Guarded* found = allocation_around(at))
        found->describe(at, "an allocation", text, room);
    else if (is_freed(at))
        std::snprintf(text, room, ", which was freed");
    else if (stack - PAGE <= at && at < stack)
        std::snprintf(text, room, ", below the stack");
}

static thread_local bool launches = false;  // this thread of the system

static void on_fault(int signal, siginfo_t* info, void*) {
    if (!launches || !current) {  // not a kernel's doing
        ::signal(signal, SIG_DFL);
        return;
    }
    char where[200] = "";
    describe(static_cast<const char*>(info->si_addr), where, sizeof where);
    const char* what = signal == SIGFPE ? "arithmetic fault" : "illegal memory access";
    note("thread %u: %s at address %p%s", current->index.x, what, info->si_addr, where);
    to_scheduler();  // the fiber is not resumed
}

// Handles the faults of kernels while it lives.
class Faults {
    static constexpr int signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
    struct sigaction before[3];
    stack_t stack_before;

   public:
    Faults() {
        launches = true;
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
        launches = false;
        for (int i = 0; i < 3; i++) sigaction(signals[i], &before[i], nullptr);
        sigaltstack(&stack_before, nullptr);
    }
};

// ---------------------------------------------------------------- launches

static void fiber_body() {
    for (;;) {
        __tsan_acquire(&machine.started);
        machine.kernel(machine.words);
        __tsan_release(&machine.finished);
        running().state = FINISHED;
        to_scheduler();
    }
}

static void prepare_threads(int count) {
    machine.threads = count;
    for (int i = 0; i < count; i++) {
        machine.lanes[i].index = {unsigned(i), 0, 0};
        machine.lanes[i].lane = i % 32;
        machine.lanes[i].warp = i / 32;
    }
    for (; machine.prepared < count; machine.prepared++) machine.lanes[machine.prepared].fiber.prepare(fiber_body);
    machine.scheduler.sanitizer = __tsan_get_current_fiber();
}

static void run_grid(unsigned grid) {
#ifndef WEFT_TSAN  // which has handlers of its own
    Faults handled;
#endif
    std::vector<unsigned> places(grid);
    arrange(places.data(), grid);
    for (unsigned i = 0; i < grid && !failed(); i++) {
        block = {places[i], 0, 0};
        run_block();
    }
    __tsan_acquire(&machine.finished);
}

static void check_guards(const long long* words, int count) {
    for (int i = 0; i < count; i++) {
        const Guarded* found = allocation_around(reinterpret_cast<const void*>(words[i]));
        if (found && !found->intact())
            note("or another one wrote behind an allocation of %zu bytes (argument %d)", found->size, i);
    }
}

}  // namespace emulator

using namespace emulator;

extern "C" {

// `order`: 0 forward, 1 reverse, 2 random by the seed.
const char* emulator_launch(void (*kernel)(const long long*), const long long* words, int count, unsigned grid, int threads,
                            std::size_t shared_bytes, int order, std::uint64_t seed, int late_copies) {
    machine.failure[0] = 0;
    machine.kernel = kernel;
    machine.words = words;
    machine.order = order;
    machine.late_copies = late_copies;
    machine.random_state = seed * 0x9E3779B97F4A7C15u + 0x1234567812345678u;
    grid_extent = {grid, 1, 1};
    block_extent = {unsigned(threads), 1, 1};
    prepare_threads(threads);
    if (!make_shared_memory(shared_bytes)) return "no memory is left for shared memory";
    run_grid(grid);
    check_guards(words, count);
    drop_shared_memory();
    if (!failed()) return nullptr;
    machine.prepared = 0;  // some fibers stand in the middle of the kernel
    return machine.failure;
}

// An address at a multiple of 256, or 0.
std::uint64_t emulator_allocate(std::size_t bytes) {
    Guarded made;
    if (!made.make(bytes, 256)) return 0;
    allocations[made.pages] = made;
    return reinterpret_cast<std::uint64_t>(made.address);
}

// Whether the bytes behind the allocation, which starts at the address, are as they were.
int emulator_free(std::uint64_t address) {
    const Guarded gone = *allocation_around(reinterpret_cast<const char*>(address));
    bool intact = gone.intact();
    forget(gone);
    return intact;
}

// Whether these bytes are within one allocation.
int emulator_holds(std::uint64_t address, std::size_t bytes) {
    const char* at = reinterpret_cast<const char*>(address);
    const Guarded* found = allocation_around(at);
    return found && found->holds(at, bytes);
}
}
