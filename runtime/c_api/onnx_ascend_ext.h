/* The C API of libonnx_ascend_ext.so: a kernel of an Ascend NPU (or of the simulator) on tensors in host
 * memory. It needs no header of ONNX Runtime and none of CANN. Every function may be called from any thread.
 */
#ifndef ONNX_ASCEND_EXT_H_
#define ONNX_ASCEND_EXT_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONNX_ASCEND_OK 0
#define ONNX_ASCEND_INVALID_ARGUMENT (-1) /* kernel, data type, rank, shape or device id */
#define ONNX_ASCEND_UNAVAILABLE (-2)      /* no library, no device, or a process that was forked */
#define ONNX_ASCEND_INTERNAL_ERROR (-3)

typedef struct onnx_ascend_tensor {
    void* data;    /* the first element; may be NULL when there are no elements */
    int32_t dtype; /* onnx.TensorProto.DataType: 1 float, 10 float16, 11 double, 14 complex64, 15 complex128,
                      16 bfloat16 */
    int32_t rank;
    const int64_t* dims;    /* `rank` sizes; may be NULL when rank is 0 */
    const int64_t* strides; /* `rank` steps in elements, of either sign; NULL: contiguous */
} onnx_ascend_tensor;

typedef struct onnx_ascend_error {
    int32_t code;      /* the return value of the call */
    char function[64]; /* the C function that returned `code`; empty for the codes above */
    char message[4096];
} onnx_ascend_error;

/* The version of the library, in static memory. */
const char* onnx_ascend_version(void);

/* The name of the execution provider, in static memory. */
const char* onnx_ascend_ep_name(void);

/* Runs `kernel` ("SigmoidBackward": grad_output, output -> grad_input) and returns when the output is there.
 * The inputs broadcast against each other, and the output must have the broadcast shape; it may overlap an
 * input. Returns 0, one of the codes above, or the code that ACL or the kernel returned; then `error`, unless
 * it is NULL, says more. */
int32_t onnx_ascend_call(const char* kernel, const onnx_ascend_tensor* inputs, size_t input_count,
                         const onnx_ascend_tensor* outputs, size_t output_count, int32_t device_id,
                         onnx_ascend_error* error);

/* Writes what the library has found on this machine, as JSON in UTF-8 with a NUL behind it, and returns how
 * many bytes that takes. When they are more than `capacity` nothing useful is in `buffer`, and the call is to
 * be made again. Opens no device for longer than the call. */
size_t onnx_ascend_describe(char* buffer, size_t capacity);

/* A warning, in static memory, that the simulator stands in for CANN where ONNX_ASCEND_BACKEND did not ask
 * for it; NULL where there is nothing to warn of. Only the first caller in a process gets it, and then ONNX
 * Runtime's log does not show it again. */
const char* onnx_ascend_simulator_notice(void);

#ifdef __cplusplus
}
#endif

#endif
