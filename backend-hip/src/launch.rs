//! A launch: arguments by name, checked against what the code object says about its kernel.
#![expect(unsafe_code, reason = "arguments cross to the runtime as pointers")]

use std::borrow::Cow;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use code_object::ArgumentKind;
use kernels::DeviceError;

use crate::module::Function;
use crate::stream::{HipStream, Launched};

/// A launch that does not fit its kernel: a mistake of the host code, found before the device sees it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LaunchError {
    /// Not as many arguments as the kernel takes.
    #[error("kernel {kernel} takes {want} arguments, {got} are given")]
    Count {
        /// Kernel.
        kernel: String,
        /// Arguments of the kernel.
        want: usize,
        /// Arguments given.
        got: usize,
    },
    /// An argument of another name, size or kind.
    #[error("argument {index} of kernel {kernel} is {want}, given is {got}")]
    Argument {
        /// Kernel.
        kernel: String,
        /// Which one, from 0.
        index: usize,
        /// Name, bytes and kind that the kernel has.
        want: String,
        /// Name, bytes and kind given.
        got: String,
    },
    /// A block or a grid that the kernel does not allow.
    #[error("kernel {kernel}: {what} is {got}, the limit is {limit}")]
    Shape {
        /// Kernel.
        kernel: String,
        /// What is too large, or zero.
        what: &'static str,
        /// The number.
        got: u64,
        /// The largest.
        limit: u64,
    },
}

/// An argument's value.
#[derive(Clone, Debug)]
struct Argument {
    /// Its name in the kernel's source, which the object has to confirm; `None` where its place says enough.
    name: Option<Cow<'static, str>>,
    /// Little-endian, as many bytes as `size` says.
    bytes: [u8; 8],
    size: u32,
    kind: ArgumentKind,
}

/// A launch in the making.
#[derive(Debug)]
#[must_use = "a launch that is not run does nothing"]
pub struct Launch {
    function: Function,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_lds: u32,
    arguments: Vec<Argument>,
    /// A dimension that does not fit what HIP takes.
    unfit: Option<LaunchError>,
}

/// Most blocks in the first dimension; the others have 65535.
const GRID: [u64; 3] = [(1 << 31) - 1, 65535, 65535];

impl Launch {
    /// A launch of one block of one wave without arguments.
    pub(crate) fn new(function: Function) -> Self {
        let block = function.kernel.wavefront_size;
        Launch {
            function,
            grid: [1; 3],
            block: [block, 1, 1],
            dynamic_lds: 0,
            arguments: Vec::new(),
            unfit: None,
        }
    }

    /// Blocks in each dimension.
    pub fn grid(mut self, blocks: [usize; 3]) -> Self {
        for (axis, (&got, limit)) in blocks.iter().zip(GRID).enumerate() {
            match u32::try_from(got) {
                Ok(fits) if fits > 0 && u64::from(fits) <= limit => self.grid[axis] = fits,
                _ => {
                    self.unfit.get_or_insert(LaunchError::Shape {
                        kernel: self.function.kernel.name.clone(),
                        what: ["the grid in x", "the grid in y", "the grid in z"][axis],
                        got: got as u64,
                        limit,
                    });
                }
            }
        }
        self
    }

    /// Threads of a block.
    pub const fn block(self, threads: u32) -> Self {
        self.block_of([threads, 1, 1])
    }

    /// Threads of a block in each dimension.
    pub const fn block_of(mut self, threads: [u32; 3]) -> Self {
        self.block = threads;
        self
    }

    /// Bytes of LDS beyond what the kernel declares.
    pub const fn dynamic_lds(mut self, bytes: u32) -> Self {
        self.dynamic_lds = bytes;
        self
    }

    /// A device address.
    pub fn pointer(self, name: &'static str, address: u64) -> Self {
        self.argument(name, address.to_le_bytes(), 8, ArgumentKind::GlobalBuffer)
    }

    /// A device address, of an argument that is known by its place.
    pub fn next_pointer(self, address: u64) -> Self {
        self.push(None, address.to_le_bytes(), 8, ArgumentKind::GlobalBuffer)
    }

    /// The first `size` of `bytes`, of an argument that is known by its place.
    pub fn next_value(self, bytes: [u8; 8], size: u32) -> Self {
        self.push(None, bytes, size, ArgumentKind::ByValue)
    }

    /// A count or an index.
    pub fn u32(mut self, name: &'static str, value: usize) -> Self {
        let limit = u64::from(u32::MAX);
        if value as u64 > limit {
            let kernel = self.function.kernel.name.clone();
            self.unfit.get_or_insert(LaunchError::Shape { kernel, what: name, got: value as u64, limit });
        }
        self.argument(name, (value as u64).to_le_bytes(), 4, ArgumentKind::ByValue)
    }

    /// A stride or a size.
    pub fn u64(self, name: &'static str, value: usize) -> Self {
        self.argument(name, (value as u64).to_le_bytes(), 8, ArgumentKind::ByValue)
    }

    /// A number.
    pub fn f32(self, name: &'static str, value: f32) -> Self {
        self.argument(name, u64::from(value.to_bits()).to_le_bytes(), 4, ArgumentKind::ByValue)
    }

    /// A number in double precision.
    pub fn f64(self, name: &'static str, value: f64) -> Self {
        self.argument(name, value.to_bits().to_le_bytes(), 8, ArgumentKind::ByValue)
    }

    fn argument(self, name: &'static str, bytes: [u8; 8], size: u32, kind: ArgumentKind) -> Self {
        self.push(Some(name.into()), bytes, size, kind)
    }

    fn push(
        mut self,
        name: Option<Cow<'static, str>>,
        bytes: [u8; 8],
        size: u32,
        kind: ArgumentKind,
    ) -> Self {
        self.arguments.push(Argument { name, bytes, size, kind });
        self
    }

    /// Threads of a block.
    fn threads(&self) -> u64 {
        self.block.into_iter().map(u64::from).product()
    }

    /// Checks the launch and gives it to `stream`.
    #[track_caller]
    pub fn run(mut self, stream: &HipStream) -> Result<(), DeviceError> {
        let kernel = Arc::clone(&self.function.kernel);
        let Launch { grid, dynamic_lds, .. } = self;
        let block = u32::try_from(self.threads()).unwrap_or(u32::MAX);
        stream.remember(Launched { kernel, grid, block, dynamic_lds });
        if let Err(error) = self.check() {
            return Err(DeviceError::Fault(format!("launch refused: {error}")));
        }
        let mut pointers: Vec<*mut c_void> =
            self.arguments.iter_mut().map(|argument| argument.bytes.as_mut_ptr().cast()).collect();
        let ([x, y, z], [bx, by, bz], lds) = (self.grid, self.block, self.dynamic_lds);
        let (raw, parameters) = (self.function.raw.0, pointers.as_mut_ptr());
        // SAFETY: one pointer per argument, each valid for the argument's size (`check`), read before the call returns.
        self.function.api.call("hipModuleLaunchKernel", |hip| unsafe {
            (hip.module_launch_kernel)(raw, x, y, z, bx, by, bz, lds, stream.raw(), parameters, null_mut())
        })
    }

    /// Compares the launch with what the code object says about its kernel.
    fn check(&self) -> Result<(), LaunchError> {
        if let Some(error) = &self.unfit {
            return Err(error.clone());
        }
        let kernel = &*self.function.kernel;
        let name = || kernel.name.clone();
        let want: Vec<_> = kernel.explicit_arguments().collect();
        if want.len() != self.arguments.len() {
            return Err(LaunchError::Count { kernel: name(), want: want.len(), got: self.arguments.len() });
        }
        for (index, (want, got)) in want.into_iter().zip(&self.arguments).enumerate() {
            let names = want.name.as_deref().zip(got.name.as_deref());
            let named = names.is_none_or(|(want, got)| want == got);
            if !named || want.size != got.size || want.kind != got.kind {
                let known = want.name.as_deref().unwrap_or("unnamed");
                return Err(LaunchError::Argument {
                    kernel: name(),
                    index,
                    want: format!("'{known}' ({} bytes, {})", want.size, want.kind),
                    got: format!(
                        "'{}' ({} bytes, {})",
                        got.name.as_deref().unwrap_or("unnamed"),
                        got.size,
                        got.kind
                    ),
                });
            }
        }
        let limit = u64::from(kernel.max_flat_workgroup_size);
        let got = self.threads();
        if got == 0 || got > limit {
            return Err(LaunchError::Shape { kernel: name(), what: "the block", got, limit });
        }
        if let Some(required) = kernel.required_workgroup_size
            && let Some(axis) = (0..3).find(|axis| required[*axis] != self.block[*axis])
        {
            let what = ["the block in x", "the block in y", "the block in z"][axis];
            let (got, limit) = (self.block[axis].into(), required[axis].into());
            return Err(LaunchError::Shape { kernel: name(), what, got, limit });
        }
        let (got, limit) = (u64::from(kernel.lds_size) + u64::from(self.dynamic_lds), LDS_BYTES);
        if got > limit {
            return Err(LaunchError::Shape { kernel: name(), what: "LDS", got, limit });
        }
        Ok(())
    }
}

/// LDS of a workgroup on every AMD GPU so far.
const LDS_BYTES: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use softhip::control::SoftDevice;

    use super::*;
    use crate::api::Api;
    use crate::module::Modules;
    use crate::objects::Objects;

    /// What a launch of `rms_norm` says before it would run, with the arguments that `give` gives it.
    fn refusal(give: impl FnOnce(Launch) -> Launch) -> String {
        let api = Arc::new(Api::software(Arc::new(SoftDevice::new(softhip::control::Options::default()))));
        let modules = Modules::new(&api, Objects::own());
        let stream = HipStream::new(&api).unwrap();
        let launch = give(Launch::new(modules.function("rms_norm", "rms_norm").unwrap()));
        launch.run(&stream).unwrap_err().to_string()
    }

    fn pointers(launch: Launch) -> Launch {
        launch.block(256).pointer("x", 0).pointer("weight", 0).pointer("out", 0)
    }

    fn strides(launch: Launch) -> Launch {
        pointers(launch).u64("x_stride", 1).u64("out_stride", 1)
    }

    #[test]
    fn refuses_a_missing_and_an_extra_argument() {
        let missing = refusal(|l| strides(l).u32("n", 1));
        assert_eq!(missing, "launch refused: kernel rms_norm takes 7 arguments, 6 are given");
        let extra = refusal(|l| strides(l).u32("n", 1).f32("eps", 0.0).u32("more", 1));
        assert_eq!(extra, "launch refused: kernel rms_norm takes 7 arguments, 8 are given");
    }

    #[test]
    fn refuses_arguments_that_are_swapped() {
        let swapped = refusal(|l| strides(l).f32("eps", 0.0).u32("n", 1));
        let said =
            "argument 5 of kernel rms_norm is 'n' (4 bytes, by_value), given is 'eps' (4 bytes, by_value)";
        assert_eq!(swapped, format!("launch refused: {said}"));
    }

    #[test]
    fn refuses_an_argument_of_another_size_or_kind() {
        let size =
            refusal(|l| pointers(l).u32("x_stride", 1).u64("out_stride", 1).u32("n", 1).f32("eps", 0.0));
        assert!(
            size.contains("'x_stride' (8 bytes, by_value), given is 'x_stride' (4 bytes, by_value)"),
            "{size}"
        );
        let kind =
            refusal(|l| pointers(l).pointer("x_stride", 1).u64("out_stride", 1).u32("n", 1).f32("eps", 0.0));
        assert!(kind.contains("given is 'x_stride' (8 bytes, global_buffer)"), "{kind}");
    }

    #[test]
    fn refuses_shapes_beyond_the_kernels_limits() {
        let given = |l: Launch| strides(l).u32("n", 1).f32("eps", 0.0);
        assert!(refusal(|l| given(l).block(257)).contains("the block is 257, the limit is 256"));
        assert!(refusal(|l| given(l).block(0)).contains("the block is 0, the limit is 256"));
        assert!(
            refusal(|l| given(l).grid([1, 65536, 1])).contains("the grid in y is 65536, the limit is 65535")
        );
        assert!(refusal(|l| given(l).dynamic_lds(1 << 16)).contains("LDS is 65"));
        assert!(
            refusal(|l| strides(l).u32("n", 1 << 32).f32("eps", 0.0))
                .contains("n is 4294967296, the limit is")
        );
    }
}
