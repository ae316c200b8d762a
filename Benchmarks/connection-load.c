// A closed-loop load generator over Unix domain sockets, for any protocol of frames with a 32-bit length. It uses one
// thread, CONNECTIONS connections, and one outstanding request on each. As a server, it echoes every frame.
//
// usage: connection-load PATH CONNECTIONS REQUESTS REQUEST [SETUP…]   (frames in hexadecimal)
//        connection-load --echo PATH
// Prints the median and the 99th percentile in microseconds, and the requests per second.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { FRAME = 1 << 17 };

struct connection {
    int descriptor;
    uint64_t begun;
    size_t count;
    uint8_t bytes[FRAME];
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static struct sockaddr_un address(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    return address;
}

static size_t decode(const char *text, uint8_t *bytes) {
    size_t count = strlen(text) / 2;
    for (size_t i = 0; i < count && i < FRAME; i++) {
        unsigned value;
        if (sscanf(text + 2 * i, "%2x", &value) != 1) exit(2);
        bytes[i] = (uint8_t)value;
    }
    return count;
}

static void send_all(int descriptor, const uint8_t *bytes, size_t count) {
    if (write(descriptor, bytes, count) != (ssize_t)count) fail("write");
}

// Reads the available bytes. Returns whether they contain a complete frame.
static int receive(struct connection *peer) {
    ssize_t count = read(peer->descriptor, peer->bytes + peer->count, FRAME - peer->count);
    if (count == 0 || (count < 0 && errno == ECONNRESET)) return -1;
    if (count < 0) fail("read");
    peer->count += (size_t)count;
    if (peer->count < 4) return 0;
    uint32_t length;
    memcpy(&length, peer->bytes, 4);
    return peer->count >= (size_t)__builtin_bswap32(length) + 4;
}

static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static _Noreturn void echo(const char *path) {
    signal(SIGPIPE, SIG_IGN);
    struct sockaddr_un name = address(path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), queue = epoll_create1(0);
    if (bind(listener, (void *)&name, sizeof name) || listen(listener, 128)) fail("listen");
    struct epoll_event event = {.events = EPOLLIN}, events[64];
    epoll_ctl(queue, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int ready = epoll_wait(queue, events, 64, -1);
        for (int i = 0; i < ready; i++) {
            struct connection *peer = events[i].data.ptr;
            if (!peer) {
                peer = calloc(1, sizeof *peer);
                peer->descriptor = accept(listener, NULL, NULL);
                event.data.ptr = peer;
                epoll_ctl(queue, EPOLL_CTL_ADD, peer->descriptor, &event);
                continue;
            }
            int whole = receive(peer);
            // When the run is complete, do not wait for the outstanding replies.
            if (whole > 0 && write(peer->descriptor, peer->bytes, peer->count) != (ssize_t)peer->count) whole = -1;
            if (whole < 0) {
                close(peer->descriptor);
                free(peer);
            } else if (whole) {
                peer->count = 0;
            }
        }
    }
}

int main(int count, char **arguments) {
    if (count == 3 && !strcmp(arguments[1], "--echo")) echo(arguments[2]);
    if (count < 5) return 2;
    int connections = atoi(arguments[2]);
    long requests = atol(arguments[3]), warm = requests / 10, done = 0;
    static uint8_t request[FRAME], setup[FRAME];
    size_t size = decode(arguments[4], request);
    struct connection *peers = calloc((size_t)connections, sizeof *peers);
    uint64_t *times = malloc(sizeof *times * (size_t)requests), begun = now();
    struct sockaddr_un name = address(arguments[1]);
    int queue = epoll_create1(0);
    for (int i = 0; i < connections; i++) {
        struct connection *peer = &peers[i];
        peer->descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(peer->descriptor, (void *)&name, sizeof name)) fail("connect");
        for (int k = 5; k < count; k++) {
            send_all(peer->descriptor, setup, decode(arguments[k], setup));
            int whole;
            while (!(whole = receive(peer))) {}
            if (whole < 0) fail("setup");
            peer->count = 0;
        }
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
        epoll_ctl(queue, EPOLL_CTL_ADD, peer->descriptor, &event);
        peer->begun = now();
        send_all(peer->descriptor, request, size);
    }
    struct epoll_event events[256];
    while (done < requests) {
        int ready = epoll_wait(queue, events, 256, 5000);
        if (ready <= 0) fail("stall");
        for (int i = 0; i < ready && done < requests; i++) {
            struct connection *peer = events[i].data.ptr;
            int whole = receive(peer);
            if (whole < 0) fail("closed");
            if (!whole) continue;
            uint64_t time = now();
            if (warm > 0) {
                if (--warm == 0) begun = time;
            } else {
                times[done++] = time - peer->begun;
            }
            peer->count = 0;
            peer->begun = now();
            send_all(peer->descriptor, request, size);
        }
    }
    double seconds = (double)(now() - begun) / 1e9;
    qsort(times, (size_t)done, sizeof *times, compare);
    printf("%.2f %.2f %.0f\n", (double)times[done / 2] / 1e3, (double)times[done * 99 / 100] / 1e3,
        (double)done / seconds);
    return 0;
}
