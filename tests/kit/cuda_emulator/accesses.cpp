// What a launch touches. In: the calls that -fsanitize=thread puts before each access of a kernel. Out: a log of them, in order.
//
// Code that is not compiled so calls nothing of this. Under ThreadSanitizer itself these functions are its own.
#ifndef WEFT_TSAN
#include <dlfcn.h>

#include <utility>

#include "machine.h"

namespace emulator {

struct Access {
    std::uint64_t code, address;      // of shared memory from its start
    std::uint32_t block, epoch;       // how often the thread has waited for others
    std::uint16_t thread;
    std::uint8_t bytes, is_write, is_shared, unused[3];
};

static std::vector<Access> accesses;
static bool records = false, unseen = false;

static void record(const void* code, const void* p, int bytes, bool is_write) {
    if (!records || unseen || !current) return;
    const char* at = static_cast<const char*>(p);
    const Lane& me = running();
    bool is_shared = machine.dynamic.holds(at, 1);
    if (!is_shared && !allocation_around(p)) return;  // registers, or what stands for them
    std::uint64_t address = is_shared ? at - machine.dynamic.address : reinterpret_cast<std::uint64_t>(at);
    accesses.push_back({reinterpret_cast<std::uint64_t>(code), address, block.x,
                        std::uint32_t(me.exchanges + me.barriers + me.warp_barriers), std::uint16_t(me.index.x),
                        std::uint8_t(bytes), is_write, is_shared, {}});
}

void copied(const void* code, const void* to, const void* from, int bytes) {
    if (from) record(code, from, bytes, false);
    record(code, to, bytes, true);
}

void matrix_begins(const void* row, bool used) {
    if (used) record(__builtin_return_address(0), row, 16, false);
    unseen = true;
}

void matrix_ends() { unseen = false; }

}  // namespace emulator

using namespace emulator;

extern "C" {

#define WEFT_SEEN(name, bytes, is_write) \
    void __tsan_##name##bytes(const void* p) { record(__builtin_return_address(0), p, bytes, is_write); }
#define WEFT_SEEN_OF(bytes)                      \
    WEFT_SEEN(read, bytes, false)                \
    WEFT_SEEN(write, bytes, true)                \
    WEFT_SEEN(unaligned_read, bytes, false)      \
    WEFT_SEEN(unaligned_write, bytes, true)
WEFT_SEEN_OF(1)
WEFT_SEEN_OF(2)
WEFT_SEEN_OF(4)
WEFT_SEEN_OF(8)
WEFT_SEEN_OF(16)
void __tsan_read_range(const void* p, std::size_t bytes) { record(__builtin_return_address(0), p, bytes, false); }
void __tsan_write_range(const void* p, std::size_t bytes) { record(__builtin_return_address(0), p, bytes, true); }

void __tsan_init() {}
void __tsan_func_entry(const void*) {}
void __tsan_func_exit() {}
void __tsan_atomic_thread_fence(int) {}
long long __tsan_atomic64_load(const long long* p, int) { return *p; }
long long __tsan_atomic64_exchange(long long* p, long long next, int) { return std::exchange(*p, next); }
int __tsan_atomic64_compare_exchange_strong(long long* p, long long* expected, long long next, int, int) {
    bool equal = *p == *expected;
    (equal ? *p : *expected) = equal ? next : *p;
    return equal;
}

void emulator_record(int on) {
    records = on;
    if (on) accesses.clear();
}

std::size_t emulator_accesses(const Access** first) {
    *first = accesses.data();
    return accesses.size();
}

// Where the library of this code was loaded, and its path.
std::uint64_t emulator_library(const void* code, const char** path) {
    Dl_info found = {};
    dladdr(code, &found);
    *path = found.dli_fname;
    return reinterpret_cast<std::uint64_t>(found.dli_fbase);
}
}
#else
namespace emulator {
void copied(const void*, const void*, const void*, int) {}
void matrix_begins(const void*, bool) {}
void matrix_ends() {}
}  // namespace emulator
#endif
