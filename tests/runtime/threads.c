/* Eight threads call the kernel on shapes that change, and others describe the machine meanwhile. Under a
 * sanitizer this shows races and memory faults of the library and the simulator, with nothing else in the
 * process. With UNSOUND the threads share one output, and it is too small. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnx_ascend_ext.h"

enum { THREADS = 8, TURNS = 400, LARGEST = 5000 };

static int failures;
#ifdef UNSOUND
static float shared[LARGEST / 16];
#endif

static void fail(const char* what) {
    fprintf(stderr, "%s\n", what);
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

static void* work(void* argument) {
    const int64_t seed = (int64_t)(intptr_t)argument;
    float *g = malloc(sizeof(float) * LARGEST), *y = malloc(sizeof(float) * LARGEST);
#ifdef UNSOUND
    float* z = shared;
#else
    float* z = malloc(sizeof(float) * LARGEST);
#endif
    for (int64_t turn = 0; turn < TURNS; ++turn) {
        const int64_t rows = 1 + (seed + turn) % 7, columns = 1 + (seed * 131 + turn * 37) % (LARGEST / 8);
        const int64_t wide[2] = {rows, columns}, narrow[1] = {columns};
        for (int64_t i = 0; i < rows * columns; ++i) g[i] = (float)(i % 17) - 8.0f + (float)seed;
        for (int64_t i = 0; i < columns; ++i) y[i] = (float)(1 + i % 9) / 10.0f;
        const onnx_ascend_tensor inputs[2] = {{g, 1, 2, wide, NULL}, {y, 1, 1, narrow, NULL}};
        const onnx_ascend_tensor output = {z, 1, 2, turn % 5 == 4 ? narrow : wide, NULL};
        onnx_ascend_error error;
        if (turn % 5 == 4) {
            /* The shape is read beyond `narrow` unless the rank says so, so the wrong one has rank 1. */
            onnx_ascend_tensor wrong = output;
            wrong.rank = 1;
            if (onnx_ascend_call("SigmoidBackward", inputs, 2, &wrong, 1, 0, &error) != -1) fail("no error");
            continue;
        }
        if (onnx_ascend_call("SigmoidBackward", inputs, 2, &output, 1, 0, &error) != 0) fail(error.message);
        for (int64_t i = 0; i < rows * columns; ++i) {
            const float slope = y[i % columns] * (1.0f - y[i % columns]);
            if (fabsf(z[i] - g[i] * slope) > 1e-5f) fail("a wrong result");
        }
    }
    free(g);
    free(y);
#ifndef UNSOUND
    free(z);
#endif
    return NULL;
}

static void* describe(void* argument) {
    (void)argument;
    char text[65536];
    for (int turn = 0; turn < 10; ++turn)
        if (onnx_ascend_describe(text, sizeof text) > sizeof text) fail("a long description");
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS + 2];
    for (intptr_t t = 0; t < THREADS; ++t) pthread_create(&threads[t], NULL, work, (void*)t);
    for (int t = THREADS; t < THREADS + 2; ++t) pthread_create(&threads[t], NULL, describe, NULL);
    for (int t = 0; t < THREADS + 2; ++t) pthread_join(threads[t], NULL);
    return failures == 0 ? 0 : 1;
}
