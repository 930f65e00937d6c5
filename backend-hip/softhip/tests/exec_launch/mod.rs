//! Launching the test objects' kernels without the HIP calls around them.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytemuck::NoUninit;
use code_object::CodeObject;
use softhip::exec::LoadedKernel;
use softhip::memory::{AllocationKind, Checks, Memory};
use softhip::report::Report;
use softhip::sched::{Counters, Dispatch, Limits};

/// A device with one code object on it.
pub struct Device {
    pub memory: Memory,
    object: Arc<CodeObject>,
    /// Where the object's image is.
    base: u64,
    /// Kernels that have been launched: they are prepared once, as programs do it.
    kernels: Mutex<HashMap<String, Arc<LoadedKernel>>>,
    pub dynamic_lds: u32,
    pub checks: Checks,
    pub limits: Limits,
}

/// A kernel-argument segment being filled.
pub struct Arguments {
    bytes: Vec<u8>,
    offsets: std::vec::IntoIter<usize>,
    hidden: Vec<(String, usize)>,
}

impl Arguments {
    fn put(mut self, value: &[u8]) -> Self {
        let at = self.offsets.next().expect("the kernel takes no more arguments");
        self.bytes[at..at + value.len()].copy_from_slice(value);
        self
    }

    pub fn pointer(self, address: u64) -> Self {
        self.put(&address.to_le_bytes())
    }

    pub fn u32(self, value: u32) -> Self {
        self.put(&value.to_le_bytes())
    }

    pub fn f32(self, value: f32) -> Self {
        self.put(&value.to_le_bytes())
    }

    /// The segment with the hidden arguments of a launch shape.
    fn finish(&self, grid: [u32; 3], block: [u32; 3]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for &(ref name, at) in &self.hidden {
            let mut put = |value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
            let Some((name, axis)) = name.rsplit_once('_') else { continue };
            let Some(axis) = ["x", "y", "z"].iter().position(|&letter| letter == axis) else { continue };
            match name {
                "hidden_block_count" => put(&grid[axis].to_le_bytes()),
                "hidden_group_size" => put(&(block[axis] as u16).to_le_bytes()),
                _ => {}
            }
        }
        bytes
    }
}

impl Device {
    /// A device with `tests/objects/<stem>.hsaco`.
    pub fn load(stem: &str) -> Self {
        let path = format!("{}/tests/objects/{stem}.hsaco", env!("CARGO_MANIFEST_DIR"));
        Self::with(CodeObject::parse(&std::fs::read(path).unwrap()).unwrap())
    }

    /// A device with this object.
    pub fn with(object: CodeObject) -> Self {
        let memory = Memory::new(7, 1 << 34);
        let base = memory.allocate(object.image().span(), AllocationKind::Image, None).unwrap();
        for segment in object.image().relocated(base) {
            memory.write(base + segment.address, &segment.bytes).unwrap();
        }
        Self {
            memory,
            object: Arc::new(object),
            base,
            kernels: Mutex::default(),
            dynamic_lds: 0,
            checks: Checks::ALL,
            limits: Limits { threads: 2, budget: 1 << 32 },
        }
    }

    pub fn buffer(&self, bytes: usize) -> u64 {
        self.memory.allocate(bytes as u64, AllocationKind::Device, None).unwrap()
    }

    pub fn upload<T: NoUninit>(&self, data: &[T]) -> u64 {
        let bytes = bytemuck::cast_slice(data);
        let address = self.buffer(bytes.len());
        self.memory.write(address, bytes).unwrap();
        address
    }

    pub fn download<T: bytemuck::AnyBitPattern + NoUninit>(&self, address: u64, count: usize) -> Vec<T> {
        let mut out = vec![<T as bytemuck::Zeroable>::zeroed(); count];
        self.memory.read(address, bytemuck::cast_slice_mut(&mut out), true).unwrap();
        out
    }

    pub fn arguments(&self, kernel: &str) -> Arguments {
        let kernel = self.object.kernel(kernel).unwrap();
        let (hidden, explicit): (Vec<_>, Vec<_>) = kernel.arguments.iter().partition(|a| a.kind.is_hidden());
        let offsets: Vec<usize> = explicit.iter().map(|argument| argument.offset as usize).collect();
        Arguments {
            bytes: vec![0; kernel.kernarg_size as usize],
            offsets: offsets.into_iter(),
            hidden: hidden
                .iter()
                .map(|argument| (argument.kind.to_string(), argument.offset as usize))
                .collect(),
        }
    }

    fn kernel(&self, name: &str) -> Arc<LoadedKernel> {
        let mut kernels = self.kernels.lock().unwrap();
        let load = || Arc::new(LoadedKernel::new(Arc::clone(&self.object), name, self.base).unwrap());
        Arc::clone(kernels.entry(name.to_owned()).or_insert_with(load))
    }

    pub fn run(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        arguments: &Arguments,
    ) -> Result<Counters, Box<Report>> {
        let kernarg = arguments.finish(grid, block);
        let address = self.memory.allocate(kernarg.len() as u64, AllocationKind::Kernarg, None).unwrap();
        self.memory.write(address, &kernarg).unwrap();
        let dispatch = Dispatch {
            kernel: self.kernel(kernel),
            grid,
            block,
            dynamic_lds: self.dynamic_lds,
            kernarg,
            kernarg_address: address,
            packet_address: 0,
            queue_address: 0,
            hostcall_address: 0,
            printf_address: 0,
            cooperative: false,
            bounds_only: false,
            site: None,
        };
        let memory = self.memory.launch(dispatch.groups(), self.checks).without_footprint();
        let result = dispatch.kernel.run(&dispatch, &memory, self.limits);
        // A launch that still holds the space would make the free copy it.
        drop(memory);
        self.memory.free(address, None).unwrap();
        // Without `go_on`, there is one.
        result.map(|ran| ran.counters).map_err(|fault| Box::new(fault.reports[0].clone()))
    }
}
