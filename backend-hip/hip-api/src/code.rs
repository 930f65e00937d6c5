//! HIP's status codes.

use std::ffi::CStr;

/// A status of a HIP call. It crosses the C interface as its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code(pub i32);

/// A code with its name and its text.
struct Entry(i32, &'static CStr, &'static CStr);

impl Code {
    /// `hipSuccess`: no error.
    pub const SUCCESS: Self = Self(0);
    /// `hipErrorInvalidValue`: invalid argument.
    pub const INVALID_VALUE: Self = Self(1);
    /// `hipErrorOutOfMemory`: out of memory.
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// `hipErrorNotInitialized`: initialization error.
    pub const NOT_INITIALIZED: Self = Self(3);
    /// `hipErrorInvalidConfiguration`: invalid configuration argument.
    pub const INVALID_CONFIGURATION: Self = Self(9);
    /// `hipErrorInvalidPitchValue`: invalid pitch argument.
    pub const INVALID_PITCH_VALUE: Self = Self(12);
    /// `hipErrorInvalidSymbol`: invalid device symbol.
    pub const INVALID_SYMBOL: Self = Self(13);
    /// `hipErrorInvalidDevicePointer`: invalid device pointer.
    pub const INVALID_DEVICE_POINTER: Self = Self(17);
    /// `hipErrorInvalidMemcpyDirection`: invalid copy direction for memcpy.
    pub const INVALID_MEMCPY_DIRECTION: Self = Self(21);
    /// `hipErrorMissingConfiguration`.
    pub const MISSING_CONFIGURATION: Self = Self(52);
    /// `hipErrorInvalidDeviceFunction`: invalid device function.
    pub const INVALID_DEVICE_FUNCTION: Self = Self(98);
    /// `hipErrorNoDevice`: no ROCm-capable device is detected.
    pub const NO_DEVICE: Self = Self(100);
    /// `hipErrorInvalidDevice`: invalid device ordinal.
    pub const INVALID_DEVICE: Self = Self(101);
    /// `hipErrorInvalidImage`: device kernel image is invalid.
    pub const INVALID_IMAGE: Self = Self(200);
    /// `hipErrorInvalidContext`: invalid device context.
    pub const INVALID_CONTEXT: Self = Self(201);
    /// `hipErrorNoBinaryForGpu`: no kernel image is available for execution on the device.
    pub const NO_BINARY_FOR_GPU: Self = Self(209);
    /// `hipErrorUnsupportedLimit`: limit is not supported on this architecture.
    pub const UNSUPPORTED_LIMIT: Self = Self(215);
    /// `hipErrorFileNotFound`: file not found.
    pub const FILE_NOT_FOUND: Self = Self(301);
    /// `hipErrorInvalidHandle`: invalid resource handle.
    pub const INVALID_HANDLE: Self = Self(400);
    /// `hipErrorIllegalState`: the operation cannot be performed in the present state.
    pub const ILLEGAL_STATE: Self = Self(401);
    /// `hipErrorNotFound`: named symbol not found.
    pub const NOT_FOUND: Self = Self(500);
    /// `hipErrorNotReady`: device not ready.
    pub const NOT_READY: Self = Self(600);
    /// `hipErrorIllegalAddress`: an illegal memory access was encountered.
    pub const ILLEGAL_ADDRESS: Self = Self(700);
    /// `hipErrorLaunchOutOfResources`: too many resources requested for launch.
    pub const LAUNCH_OUT_OF_RESOURCES: Self = Self(701);
    /// `hipErrorLaunchTimeOut`: the launch timed out and was terminated.
    pub const LAUNCH_TIME_OUT: Self = Self(702);
    /// `hipErrorContextIsDestroyed`: context is destroyed.
    pub const CONTEXT_IS_DESTROYED: Self = Self(709);
    /// `hipErrorAssert`: device-side assert triggered.
    pub const ASSERT: Self = Self(710);
    /// `hipErrorHostMemoryAlreadyRegistered`: part or all of the requested memory range is already mapped.
    pub const HOST_MEMORY_ALREADY_REGISTERED: Self = Self(712);
    /// `hipErrorHostMemoryNotRegistered`: pointer does not correspond to a registered memory region.
    pub const HOST_MEMORY_NOT_REGISTERED: Self = Self(713);
    /// `hipErrorLaunchFailure`: unspecified launch failure.
    pub const LAUNCH_FAILURE: Self = Self(719);
    /// `hipErrorCooperativeLaunchTooLarge`: too many blocks in cooperative launch.
    pub const COOPERATIVE_LAUNCH_TOO_LARGE: Self = Self(720);
    /// `hipErrorNotSupported`: operation not supported.
    pub const NOT_SUPPORTED: Self = Self(801);
    /// `hipErrorStreamCaptureUnsupported`: operation not permitted when stream is capturing.
    pub const STREAM_CAPTURE_UNSUPPORTED: Self = Self(900);
    /// `hipErrorGraphExecUpdateFailure`: the graph update was not performed.
    pub const GRAPH_EXEC_UPDATE_FAILURE: Self = Self(910);
    /// `hipErrorUnknown`: unknown error.
    pub const UNKNOWN: Self = Self(999);

    /// The name of the constant: `hipErrorInvalidValue`.
    pub fn name(self) -> &'static CStr {
        self.entry().map_or(c"hipErrorUnknown", |entry| entry.1)
    }

    /// What it means, in a few words.
    pub fn text(self) -> &'static CStr {
        self.entry().map_or(c"unknown error", |entry| entry.2)
    }

    /// Is it one of HIP's?
    pub fn is_known(self) -> bool {
        self.entry().is_some()
    }

    fn entry(self) -> Option<&'static Entry> {
        CODES.iter().find(|entry| entry.0 == self.0)
    }
}

const CODES: &[Entry] = &[
    Entry(0, c"hipSuccess", c"no error"),
    Entry(1, c"hipErrorInvalidValue", c"invalid argument"),
    Entry(2, c"hipErrorOutOfMemory", c"out of memory"),
    Entry(3, c"hipErrorNotInitialized", c"initialization error"),
    Entry(4, c"hipErrorDeinitialized", c"driver shutting down"),
    Entry(5, c"hipErrorProfilerDisabled", c"profiler disabled while using external profiling tool"),
    Entry(6, c"hipErrorProfilerNotInitialized", c"profiler is not initialized"),
    Entry(7, c"hipErrorProfilerAlreadyStarted", c"profiler already started"),
    Entry(8, c"hipErrorProfilerAlreadyStopped", c"profiler already stopped"),
    Entry(9, c"hipErrorInvalidConfiguration", c"invalid configuration argument"),
    Entry(12, c"hipErrorInvalidPitchValue", c"invalid pitch argument"),
    Entry(13, c"hipErrorInvalidSymbol", c"invalid device symbol"),
    Entry(17, c"hipErrorInvalidDevicePointer", c"invalid device pointer"),
    Entry(21, c"hipErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy"),
    Entry(35, c"hipErrorInsufficientDriver", c"driver version is insufficient for runtime version"),
    Entry(52, c"hipErrorMissingConfiguration", c"__global__ function call is not configured"),
    Entry(53, c"hipErrorPriorLaunchFailure", c"unspecified launch failure in prior launch"),
    Entry(98, c"hipErrorInvalidDeviceFunction", c"invalid device function"),
    Entry(100, c"hipErrorNoDevice", c"no ROCm-capable device is detected"),
    Entry(101, c"hipErrorInvalidDevice", c"invalid device ordinal"),
    Entry(200, c"hipErrorInvalidImage", c"device kernel image is invalid"),
    Entry(201, c"hipErrorInvalidContext", c"invalid device context"),
    Entry(202, c"hipErrorContextAlreadyCurrent", c"context is already current context"),
    Entry(205, c"hipErrorMapFailed", c"mapping of buffer object failed"),
    Entry(206, c"hipErrorUnmapFailed", c"unmapping of buffer object failed"),
    Entry(207, c"hipErrorArrayIsMapped", c"array is mapped"),
    Entry(208, c"hipErrorAlreadyMapped", c"resource already mapped"),
    Entry(209, c"hipErrorNoBinaryForGpu", c"no kernel image is available for execution on the device"),
    Entry(210, c"hipErrorAlreadyAcquired", c"resource already acquired"),
    Entry(211, c"hipErrorNotMapped", c"resource not mapped"),
    Entry(212, c"hipErrorNotMappedAsArray", c"resource not mapped as array"),
    Entry(213, c"hipErrorNotMappedAsPointer", c"resource not mapped as pointer"),
    Entry(214, c"hipErrorECCNotCorrectable", c"uncorrectable ECC error encountered"),
    Entry(215, c"hipErrorUnsupportedLimit", c"limit is not supported on this architecture"),
    Entry(216, c"hipErrorContextAlreadyInUse", c"exclusive-thread device already in use by a different thread"),
    Entry(217, c"hipErrorPeerAccessUnsupported", c"peer access is not supported between these two devices"),
    Entry(218, c"hipErrorInvalidKernelFile", c"invalid kernel file"),
    Entry(219, c"hipErrorInvalidGraphicsContext", c"invalid OpenGL or DirectX context"),
    Entry(300, c"hipErrorInvalidSource", c"device kernel image is invalid"),
    Entry(301, c"hipErrorFileNotFound", c"file not found"),
    Entry(302, c"hipErrorSharedObjectSymbolNotFound", c"shared object symbol not found"),
    Entry(303, c"hipErrorSharedObjectInitFailed", c"shared object initialization failed"),
    Entry(304, c"hipErrorOperatingSystem", c"OS call failed or operation not supported on this OS"),
    Entry(400, c"hipErrorInvalidHandle", c"invalid resource handle"),
    Entry(401, c"hipErrorIllegalState", c"the operation cannot be performed in the present state"),
    Entry(500, c"hipErrorNotFound", c"named symbol not found"),
    Entry(600, c"hipErrorNotReady", c"device not ready"),
    Entry(700, c"hipErrorIllegalAddress", c"an illegal memory access was encountered"),
    Entry(701, c"hipErrorLaunchOutOfResources", c"too many resources requested for launch"),
    Entry(702, c"hipErrorLaunchTimeOut", c"the launch timed out and was terminated"),
    Entry(704, c"hipErrorPeerAccessAlreadyEnabled", c"peer access is already enabled"),
    Entry(705, c"hipErrorPeerAccessNotEnabled", c"peer access has not been enabled"),
    Entry(708, c"hipErrorSetOnActiveProcess", c"cannot set while device is active in this process"),
    Entry(709, c"hipErrorContextIsDestroyed", c"context is destroyed"),
    Entry(710, c"hipErrorAssert", c"device-side assert triggered"),
    Entry(712, c"hipErrorHostMemoryAlreadyRegistered", c"part or all of the requested memory range is already mapped"),
    Entry(713, c"hipErrorHostMemoryNotRegistered", c"pointer does not correspond to a registered memory region"),
    Entry(719, c"hipErrorLaunchFailure", c"unspecified launch failure"),
    Entry(720, c"hipErrorCooperativeLaunchTooLarge", c"too many blocks in cooperative launch"),
    Entry(801, c"hipErrorNotSupported", c"operation not supported"),
    Entry(900, c"hipErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing"),
    Entry(901, c"hipErrorStreamCaptureInvalidated", c"operation failed due to a previous error during capture"),
    Entry(902, c"hipErrorStreamCaptureMerge", c"operation would result in a merge of separate capture sequences"),
    Entry(903, c"hipErrorStreamCaptureUnmatched", c"capture was not ended in the same stream as it began"),
    Entry(904, c"hipErrorStreamCaptureUnjoined", c"capturing stream has unjoined work"),
    Entry(905, c"hipErrorStreamCaptureIsolation", c"dependency created on uncaptured work in another stream"),
    Entry(906, c"hipErrorStreamCaptureImplicit", c"operation would make the legacy stream depend on a capturing blocking stream"),
    Entry(907, c"hipErrorCapturedEvent", c"operation not permitted on an event last recorded in a capturing stream"),
    Entry(908, c"hipErrorStreamCaptureWrongThread", c"attempt to terminate a thread-local capture sequence from another thread"),
    Entry(910, c"hipErrorGraphExecUpdateFailure", c"the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"),
    Entry(999, c"hipErrorUnknown", c"unknown error"),
    Entry(1052, c"hipErrorRuntimeMemory", c"runtime memory call returned error"),
    Entry(1053, c"hipErrorRuntimeOther", c"runtime call other than memory returned error"),
];
