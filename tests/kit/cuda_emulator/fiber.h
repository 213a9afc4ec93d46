// Fibers: stacks that one thread of the system runs in turn. In: a function. Out: switches between it and the scheduler.
#pragma once
#include <sys/mman.h>

#include <cstddef>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#ifdef WEFT_TSAN  // the fiber interface of ThreadSanitizer, found in the preloaded library
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
}
#else
inline void* __tsan_get_current_fiber() { return nullptr; }
inline void* __tsan_create_fiber(unsigned) { return nullptr; }
inline void __tsan_switch_to_fiber(void*, unsigned) {}
inline void __tsan_acquire(void*) {}
inline void __tsan_release(void*) {}
#endif

namespace emulator {

constexpr std::size_t PAGE = 4096, STACK = 256 * 1024;
constexpr unsigned NO_ORDER = 1;  // a switch of fibers is not an event that orders memory accesses

#if defined(__x86_64__)
extern "C" void weft_emulator_switch(void** save, void* to);  // keeps the registers that a call must preserve
asm(R"(.text
.p2align 4
.hidden weft_emulator_switch
.globl weft_emulator_switch
.type weft_emulator_switch, @function
weft_emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size weft_emulator_switch, . - weft_emulator_switch
)");

struct Context {
    void* top = nullptr;

    void prepare(char* stack, void (*body)()) {
        void** at = reinterpret_cast<void**>(stack + STACK);
        *--at = nullptr;  // the stack is misaligned by 8 at the entry of a function
        *--at = reinterpret_cast<void*>(body);
        top = at - 6;
        for (int i = 1; i <= 6; i++) at[-i] = nullptr;
    }

    void go(Context& to) { weft_emulator_switch(&top, to.top); }
};
#else
struct Context {
    ucontext_t state;

    void prepare(char* stack, void (*body)()) {
        getcontext(&state);
        state.uc_stack.ss_sp = stack;
        state.uc_stack.ss_size = STACK;
        makecontext(&state, body, 0);
    }

    void go(Context& to) { swapcontext(&state, &to.state); }
};
#endif

struct Fiber {
    Context context;
    char* stack = nullptr;
    void* sanitizer = nullptr;

    // Starts anew at `body`, whatever ran here before.
    void prepare(void (*body)()) {
        if (!stack) {
            char* pages = static_cast<char*>(
                mmap(nullptr, PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
            mprotect(pages, PAGE, PROT_NONE);
            stack = pages + PAGE;
        }
        context.prepare(stack, body);
        if (!sanitizer) sanitizer = __tsan_create_fiber(0);
    }
};

inline void switch_fibers(Fiber& from, Fiber& to) {
    __tsan_switch_to_fiber(to.sanitizer, NO_ORDER);
    from.context.go(to.context);
}

}  // namespace emulator
