// Runs a block. In: threads on their fibers. Out: all have finished, or the first mistake is noted.
#include <utility>

#include "machine.h"

namespace emulator {

// ---------------------------------------------------------------- order

static unsigned random_below(unsigned n) {
    std::uint64_t& x = machine.random_state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return unsigned(x >> 32) % n;
}

void arrange(unsigned* places, unsigned n) {
    for (unsigned i = 0; i < n; i++) places[i] = machine.order == REVERSE ? n - 1 - i : i;
    if (machine.order != RANDOM) return;
    for (unsigned i = n; i-- > 1;) std::swap(places[i], places[random_below(i + 1)]);
}

// ---------------------------------------------------------------- warps

static void resume(Lane& lane) {
    current = &lane;
    switch_fibers(machine.scheduler, lane.fiber);
    current = nullptr;
}

// Lets all lanes of a warp pass the one place at which they wait for each other; false where none waits there.
static bool release_warp(Lane* warp, int count) {
    const Lane *waiting = nullptr, *elsewhere = nullptr;
    for (int i = 0; i < count; i++) {
        const Lane& lane = warp[i];
        if (lane.state != AT_WARP)
            elsewhere = &lane;
        else if (!waiting)
            waiting = &lane;
        else if (lane.line != waiting->line)
            note("thread %u waits for its warp at line %d, thread %u at line %d", waiting->index.x, waiting->line, lane.index.x,
                 lane.line);
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
        for (int i = 0; i < count && !failed(); i++)
            if (warp[places[i]].state == RUNS) resume(warp[places[i]]);
    } while (!failed() && release_warp(warp, count));
}

// ---------------------------------------------------------------- blocks

// Lets all threads pass a barrier; false where all have finished.
static bool release_block() {
    int finished = 0;
    const Lane* first = nullptr;
    for (int i = 0; i < machine.threads; i++) {
        const Lane& lane = machine.lanes[i];
        finished += lane.state == FINISHED;
        if (lane.state != AT_BLOCK) continue;
        if (!first) first = &lane;
        if (lane.line != first->line)
            note("thread %u waits for the block at line %d, thread %d at line %d", first->index.x, first->line, i, lane.line);
    }
    if (!first) return false;
    if (finished)
        note("line %d: a barrier is not reached by %d of %d threads, which have finished", first->line, finished,
             machine.threads);
    for (int i = 0; i < machine.threads; i++) machine.lanes[i].state = RUNS;
    return true;
}

bool make_shared_memory(std::size_t bytes) {
    if (!machine.dynamic.make(bytes, 128) || !machine.fixed.make(sizeof(Static), alignof(Static))) return false;
    machine.own = reinterpret_cast<Static*>(machine.fixed.address);
    partials = machine.own->partials;
    shared = machine.dynamic.address;
    return true;
}

void drop_shared_memory() {
    machine.dynamic.drop();
    machine.fixed.drop();
}

static void poison_shared_memory() {
#ifdef WEFT_TSAN  // new pages, of which it knows nothing: blocks are not ordered, what one left behind would be a race
    std::size_t bytes = machine.dynamic.size;
    drop_shared_memory();
    make_shared_memory(bytes);
#else
    std::memset(shared, POISON, machine.dynamic.size);
    std::memset(partials, POISON, sizeof machine.own->partials);
#endif
}

static void start(Lane& lane) {
    lane.state = RUNS;
    lane.exchanges = lane.barriers = lane.warp_barriers = 0;
    lane.copies.clear();
    lane.groups.clear();
}

void run_block() {
    poison_shared_memory();
    __tsan_release(&machine.started);
    for (int i = 0; i < machine.threads; i++) start(machine.lanes[i]);
    unsigned places[32], warps = (machine.threads + 31) / 32;
    do {
        arrange(places, warps);
        for (unsigned i = 0; i < warps && !failed(); i++) {
            int first = 32 * places[i];
            run_warp(machine.lanes + first, machine.threads - first < 32 ? machine.threads - first : 32);
        }
    } while (!failed() && release_block() && !failed());
    if (!machine.dynamic.intact()) note("something wrote behind the shared memory of %zu bytes", machine.dynamic.size);
}

}  // namespace emulator
