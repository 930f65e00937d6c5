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
    /// `hipErrorUnsupportedLimit`: limit is not supported on device.
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

    fn entry(self) -> Option<&'static Entry> {
        CODES.iter().find(|entry| entry.0 == self.0)
    }
}

const CODES: &[Entry] = &[
    Entry(0, c"hipSuccess", c"no error"),
    Entry(1, c"hipErrorInvalidValue", c"invalid argument"),
    Entry(2, c"hipErrorOutOfMemory", c"out of memory"),
    Entry(3, c"hipErrorNotInitialized", c"initialization error"),
    Entry(9, c"hipErrorInvalidConfiguration", c"invalid configuration argument"),
    Entry(12, c"hipErrorInvalidPitchValue", c"invalid pitch argument"),
    Entry(13, c"hipErrorInvalidSymbol", c"invalid device symbol"),
    Entry(17, c"hipErrorInvalidDevicePointer", c"invalid device pointer"),
    Entry(21, c"hipErrorInvalidMemcpyDirection", c"invalid copy direction for memcpy"),
    Entry(98, c"hipErrorInvalidDeviceFunction", c"invalid device function"),
    Entry(100, c"hipErrorNoDevice", c"no ROCm-capable device is detected"),
    Entry(101, c"hipErrorInvalidDevice", c"invalid device ordinal"),
    Entry(200, c"hipErrorInvalidImage", c"device kernel image is invalid"),
    Entry(201, c"hipErrorInvalidContext", c"invalid device context"),
    Entry(209, c"hipErrorNoBinaryForGpu", c"no kernel image is available for execution on the device"),
    Entry(301, c"hipErrorFileNotFound", c"file not found"),
    Entry(400, c"hipErrorInvalidHandle", c"invalid resource handle"),
    Entry(401, c"hipErrorIllegalState", c"the operation cannot be performed in the present state"),
    Entry(500, c"hipErrorNotFound", c"named symbol not found"),
    Entry(600, c"hipErrorNotReady", c"device not ready"),
    Entry(700, c"hipErrorIllegalAddress", c"an illegal memory access was encountered"),
    Entry(701, c"hipErrorLaunchOutOfResources", c"too many resources requested for launch"),
    Entry(702, c"hipErrorLaunchTimeOut", c"the launch timed out and was terminated"),
    Entry(709, c"hipErrorContextIsDestroyed", c"context is destroyed"),
    Entry(710, c"hipErrorAssert", c"device-side assert triggered"),
    Entry(719, c"hipErrorLaunchFailure", c"unspecified launch failure"),
    Entry(801, c"hipErrorNotSupported", c"operation not supported"),
    Entry(900, c"hipErrorStreamCaptureUnsupported", c"operation not permitted when stream is capturing"),
    Entry(910, c"hipErrorGraphExecUpdateFailure", c"the graph update was not performed"),
    Entry(999, c"hipErrorUnknown", c"unknown error"),
];
