//! What programs that hipcc linked, and the clients that look their calls up, need of the library: every name is exported, and none of
//! them is one of those that answer `hipErrorNotSupported`, but for those that are listed here with a reason.
#![allow(unsafe_code, reason = "the library is opened as a program would open it")]

use std::ffi::{CString, c_int, c_void};

/// What the compiler's code and most programs call.
const LINKED: &str = "
    __hipRegisterFatBinary __hipRegisterFunction __hipRegisterVar __hipRegisterManagedVar __hipUnregisterFatBinary
    __hipPushCallConfiguration __hipPopCallConfiguration hipLaunchKernel hipGetDevicePropertiesR0600 hipModuleLoad
    hipMemcpyToSymbol hipMemcpyFromSymbol hipGetSymbolAddress hipGetSymbolSize hipMalloc hipFree hipHostMalloc hipHostFree
    hipMallocPitch hipMalloc3D hipMemcpy hipMemcpyAsync hipMemcpy2D hipMemcpy2DAsync hipMemcpy3D hipMemset hipMemsetAsync hipMemset2D
    hipStreamCreate hipStreamCreateWithFlags hipStreamCreateWithPriority hipStreamDestroy hipStreamSynchronize hipStreamQuery
    hipStreamWaitEvent hipEventCreate hipEventCreateWithFlags hipEventRecord hipEventQuery hipEventSynchronize hipEventElapsedTime
    hipEventDestroy hipModuleLoadData hipModuleUnload hipModuleGetFunction hipModuleGetGlobal hipModuleLaunchKernel
    hipConfigureCall hipSetupArgument hipLaunchByPtr";

/// Triton's driver.
const TRITON: &str = "
    hipGetLastError hipGetErrorString hipDeviceGetStreamPriorityRange hipModuleLoadDataEx hipModuleLaunchCooperativeKernel
    hipPointerGetAttribute hipDrvLaunchKernelEx hipFuncGetAttribute hipFuncSetAttribute hipDeviceGet hipGetDeviceCount";

/// llama.cpp, IREE, cubecl.
const ENGINES: &str = "
    hipStreamBeginCapture hipStreamEndCapture hipStreamIsCapturing hipGraphInstantiate hipGraphLaunch hipGraphExecUpdate hipGraphGetNodes
    hipGraphNodeGetType hipGraphKernelNodeGetParams hipGraphKernelNodeSetParams hipGraphExecKernelNodeSetParams hipGraphDestroy
    hipGraphExecDestroy hipGraphUpload hipGraphCreate hipGraphAddKernelNode hipGraphAddMemcpyNode1D hipGraphAddMemsetNode
    hipGraphAddEmptyNode hipGraphAddHostNode hipMemAddressReserve hipMemAddressFree hipMemCreate hipMemRelease hipMemMap hipMemUnmap
    hipMemSetAccess hipMemGetAllocationGranularity hipMallocManaged hipHostRegister hipHostUnregister hipHostGetDevicePointer
    hipFuncGetAttributes hipOccupancyMaxActiveBlocksPerMultiprocessor hipOccupancyMaxPotentialBlockSize hipLaunchCooperativeKernel
    hipDeviceGetName hipDeviceGetPCIBusId hipSetDeviceFlags hipDeviceCanAccessPeer hipDeviceEnablePeerAccess
    hipDeviceDisablePeerAccess hipMemPrefetchAsync hipMemAdvise hipLaunchHostFunc hiprtcCreateProgram hiprtcCompileProgram
    hiprtcGetCodeSize hiprtcGetCode hiprtcGetProgramLogSize hiprtcGetProgramLog hiprtcDestroyProgram hipblasCreate hipblasGemmEx
    hipblasSgemm hipblasLtMatmul rocblas_sgemm";

/// What `torch` calls.
const PYTORCH: &str = "
    hipMallocAsync hipFreeAsync hipMemPoolCreate hipMemPoolDestroy hipMemPoolSetAttribute hipMemPoolGetAttribute hipMemPoolTrimTo
    hipMemPoolSetAccess hipMallocFromPoolAsync hipDeviceGetDefaultMemPool hipDeviceSetMemPool hipDeviceGetMemPool hipCtxGetCurrent
    hipCtxSetCurrent hipCtxCreate hipCtxDestroy hipDevicePrimaryCtxGetState hipDevicePrimaryCtxRetain hipDevicePrimaryCtxRelease
    hipStreamGetCaptureInfo hipStreamGetCaptureInfo_v2 hipStreamUpdateCaptureDependencies hipThreadExchangeStreamCaptureMode
    hipExtModuleLaunchKernel hipExtStreamCreateWithCUMask hipExtStreamGetCUMask hipMemGetInfo hipDeviceReset hipRuntimeGetVersion
    hipDriverGetVersion hipStreamGetPriority hipEventRecordWithFlags hipGetDeviceFlags";

/// Calls that answer `hipErrorNotSupported`: another process has a device of its own, which cannot reach this one's memory.
const REFUSED: &str =
    "hipIpcGetMemHandle hipIpcOpenMemHandle hipIpcCloseMemHandle hipIpcGetEventHandle hipIpcOpenEventHandle";

fn library() -> libloading::Library {
    let path = std::env::current_exe().expect("the test has a path").with_file_name("libamdhip64.so");
    // SAFETY: the library's first code to run reads environment variables alone.
    unsafe { libloading::Library::new(&path) }.expect("cargo builds the library with the tests")
}

fn names(lists: &[&'static str]) -> Vec<&'static str> {
    lists.iter().flat_map(|list| list.split_whitespace()).collect()
}

#[test]
fn every_call_that_clients_make_is_exported() {
    let library = library();
    let missing = names(&[LINKED, TRITON, ENGINES, PYTORCH, REFUSED]).into_iter().filter(|name| {
        // SAFETY: only the address is looked at.
        unsafe { library.get::<*const c_void>(name.as_bytes()) }.is_err()
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn only_the_calls_with_a_reason_are_refused() {
    let refused: Vec<&str> = include_str!("../src/unsupported.rs").lines().map(str::trim).collect();
    let wrong = names(&[LINKED, TRITON, ENGINES, PYTORCH]).into_iter().filter(|name| refused.contains(name));
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(names(&[REFUSED]).iter().all(|name| refused.contains(name)), "mend the list of reasons");
}

#[test]
fn calls_are_found_by_name_and_properties_in_the_newer_layout() {
    type Find = unsafe extern "C" fn(*const i8, *mut *mut c_void, c_int, u64, *mut c_int) -> c_int;
    let library = library();
    // SAFETY: the signature is HIP's.
    let find = unsafe { library.get::<Find>(b"hipGetProcAddress") }.expect("it is exported");
    let address = |name: &str| {
        let name = CString::new(name).expect("a name has no null");
        let (mut function, mut result) = (std::ptr::null_mut(), -1);
        // SAFETY: the name is a string, and the outputs are valid.
        let code = unsafe { find(name.as_ptr().cast(), &raw mut function, 60_400_000, 0, &raw mut result) };
        (code, result, function)
    };
    // SAFETY: only the address is looked at.
    let newer =
        unsafe { library.get::<*const c_void>(b"hipGetDevicePropertiesR0600") }.expect("it is exported");
    let (code, result, function) = address("hipGetDeviceProperties");
    assert_eq!((code, result, function.cast_const()), (0, 0, *newer));
    let exported = names(&[TRITON, ENGINES, PYTORCH]);
    let runtime = exported.into_iter().filter(|name| name.starts_with("hip"));
    let missing = runtime.filter(|name| {
        let other = name.starts_with("hiprtc") || name.starts_with("hipblas");
        !other && address(name).2.is_null()
    });
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(address("hipNoSuchCall").0, 1);
}
