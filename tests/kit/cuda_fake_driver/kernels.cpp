// Host functions that stand for kernels. In: the launch and its packed arguments. Out: a CUresult.

#define KERNEL(name) extern "C" int name(unsigned grid, unsigned block, unsigned shared, const long long* words, unsigned long count)

static long long* at(long long address) { return (long long*)address; }

// y = 2 x
KERNEL(double_p0) {
    if (count != 4) return 1;
    for (long long i = 0; i < words[2]; i++) at(words[1])[i] = 2 * at(words[0])[i];
    return 0;
}

// y = x + k[0]
KERNEL(add_p0) {
    if (count != 5) return 1;
    for (long long i = 0; i < words[3]; i++) at(words[2])[i] = at(words[0])[i] + at(words[1])[0];
    return 0;
}

// 0 <= x < 4
KERNEL(check_p0) {
    long long* status = at(words[2]);
    for (long long i = words[1] - 1; i >= 0; i--)
        if (at(words[0])[i] < 0 || at(words[0])[i] >= 4) status[0] = i, status[1] = at(words[0])[i];
    return 0;
}

// y = grid, block, shared
KERNEL(sizes_p0) {
    at(words[0])[0] = grid, at(words[0])[1] = block, at(words[0])[2] = shared;
    return 0;
}

// An illegal address
KERNEL(fault_p0) { return 700; }
