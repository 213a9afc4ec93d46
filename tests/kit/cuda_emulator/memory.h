// Device memory between pages that nobody may touch. In: sizes. Out: addresses, and which bytes were written that nobody owns.
#pragma once
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <deque>
#include <map>

#include "fiber.h"

namespace emulator {

constexpr int POISON = 0xff;              // a NaN in every float dtype
constexpr std::size_t GUARD = 1 << 20;    // addresses before and behind memory

// `size` bytes that end as close to a protected page as the alignment allows; the bytes between are poison and must stay so.
struct Guarded {
    char *pages = nullptr, *address = nullptr;
    std::size_t size = 0, mapped = 0, slack = 0;

    bool make(std::size_t bytes, std::size_t alignment) {
        size = bytes;
        std::size_t room = (bytes + alignment - 1) / alignment * alignment, whole = (room + PAGE - 1) / PAGE * PAGE;
        slack = room - bytes;
        mapped = whole + 2 * GUARD;
        void* got = mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (got == MAP_FAILED) return false;
        pages = static_cast<char*>(got);
        if (whole) mprotect(pages + GUARD, whole, PROT_READ | PROT_WRITE);
        address = pages + GUARD + whole - room;
        std::memset(address, POISON, room);
        return true;
    }

    void drop() const { munmap(pages, mapped); }

    bool intact() const {
        for (std::size_t i = 0; i < slack; i++)
            if (static_cast<unsigned char>(address[size + i]) != POISON) return false;
        return true;
    }

    bool holds(const char* from, std::size_t bytes) const { return address <= from && from + bytes <= address + size; }

    bool guards(const char* at) const { return pages <= at && at < pages + mapped; }

    void describe(const char* at, const char* what, char* text, std::size_t room) const {
        if (at >= address + size)
            std::snprintf(text, room, ", %td bytes behind %s of %zu bytes", at - address - size, what, size);
        else
            std::snprintf(text, room, ", %td bytes before %s of %zu bytes", address - at, what, size);
    }
};

inline std::map<const char*, Guarded> allocations;  // by the first address of their pages
inline std::deque<Guarded> freed;                   // the last ones, their addresses taken so that a use of them is a fault
constexpr std::size_t REMEMBERED = 256;

inline void forget(const Guarded& gone) {
    allocations.erase(gone.pages);
    mmap(gone.pages, gone.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    freed.push_back(gone);
    if (freed.size() <= REMEMBERED) return;
    freed.front().drop();
    freed.pop_front();
}

inline bool is_freed(const char* at) {
    for (const Guarded& gone : freed)
        if (gone.guards(at)) return true;
    return false;
}

inline const Guarded* allocation_around(const void* address) {
    const char* at = static_cast<const char*>(address);
    auto behind = allocations.upper_bound(at);
    if (behind == allocations.begin()) return nullptr;
    const Guarded& found = std::prev(behind)->second;
    return found.guards(at) ? &found : nullptr;
}

}  // namespace emulator
