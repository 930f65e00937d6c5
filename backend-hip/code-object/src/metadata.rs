//! The metadata note: `MessagePack` that lists the kernels and their arguments.

use std::collections::BTreeMap;
use std::fmt::Display;

use rmpv::Value;

use crate::argument::{Argument, ArgumentKind};
use crate::error::{KernelSize, ObjectError};
use crate::kernel::{Kernel, Placement};

/// What the note says.
pub struct Metadata {
    pub kernels: Vec<Kernel>,
    /// Formats of messages that kernels name by their hash.
    pub printf: BTreeMap<u64, String>,
}

/// Reads the note's descriptor bytes. `place` finds a kernel's code and descriptor from its name
/// and the symbol of its descriptor.
pub fn read(
    note: &[u8],
    place: impl Fn(&str, &str) -> Result<Placement, ObjectError>,
) -> Result<Metadata, ObjectError> {
    // Nesting is bounded: the real thing is five levels deep.
    let root = rmpv::decode::read_value_with_max_depth(&mut &*note, 16)
        .map_err(|error| ObjectError::Metadata { place: "note".into(), problem: error.to_string() })?;
    let root = Map { value: &root, place: "metadata" };
    let kernels = root
        .array("amdhsa.kernels")?
        .iter()
        .map(|value| read_kernel(Map { value, place: "kernel" }, &place))
        .collect::<Result<_, _>>()?;
    let printf = match root.find("amdhsa.printf") {
        Some(_) => {
            root.array("amdhsa.printf")?.iter().filter_map(|entry| printf_format(entry.as_str()?)).collect()
        }
        None => BTreeMap::new(),
    };
    Ok(Metadata { kernels, printf })
}

/// A hash and its format from `0:0:hash,format`. Those of other languages have other numbers, and are none.
fn printf_format(entry: &str) -> Option<(u64, String)> {
    let (hash, format) = entry.strip_prefix("0:0:")?.split_once(',')?;
    Some((u64::from_str_radix(hash, 16).ok()?, format.to_owned()))
}

fn read_kernel(
    map: Map<'_>,
    place: impl Fn(&str, &str) -> Result<Placement, ObjectError>,
) -> Result<Kernel, ObjectError> {
    let name = map.text(".name")?;
    let map = Map { place: name, ..map };
    let arguments = match map.find(".args") {
        Some(_) => map.array(".args")?.iter().map(|value| read_argument(Map { value, ..map })).collect(),
        None => Ok(Vec::new()),
    };
    let Placement { entry, code, descriptor } = place(name, map.text(".symbol")?)?;
    let kernel = Kernel {
        name: name.to_owned(),
        entry,
        code,
        descriptor,
        arguments: arguments?,
        kernarg_size: map.number(".kernarg_segment_size")?,
        kernarg_align: map.number(".kernarg_segment_align")?,
        lds_size: map.number(".group_segment_fixed_size")?,
        scratch_size: map.number(".private_segment_fixed_size")?,
        wavefront_size: map.number(".wavefront_size")?,
        sgprs: map.number(".sgpr_count")?,
        vgprs: map.number(".vgpr_count")?,
        agprs: map.optional_number(".agpr_count")?.unwrap_or(0),
        max_flat_workgroup_size: map.number(".max_flat_workgroup_size")?,
        required_workgroup_size: map.triple(".reqd_workgroup_size")?,
    };
    for argument in &kernel.arguments {
        let end = u64::from(argument.offset) + u64::from(argument.size);
        if end > u64::from(kernel.kernarg_size) {
            let size = kernel.kernarg_size;
            let problem =
                format!("argument at {} ends at {end}, the segment has {size} bytes", argument.offset);
            return Err(map.wrong(".args", problem));
        }
    }
    agree(&kernel)?;
    Ok(kernel)
}

/// The sizes of memory that stand both in the metadata and in the descriptor must be the same. For the arguments'
/// size the metadata counts: see [`Kernel::notes`].
fn agree(kernel: &Kernel) -> Result<(), ObjectError> {
    let sizes = [
        (KernelSize::Lds, kernel.lds_size, kernel.descriptor.lds_size),
        (KernelSize::Scratch, kernel.scratch_size, kernel.descriptor.scratch_size),
    ];
    for (what, metadata, descriptor) in sizes {
        if metadata != descriptor {
            return Err(ObjectError::Contradiction {
                kernel: kernel.name.clone(),
                what,
                metadata,
                descriptor,
            });
        }
    }
    Ok(())
}

fn read_argument(map: Map<'_>) -> Result<Argument, ObjectError> {
    Ok(Argument {
        name: map.optional_text(".name")?.map(str::to_owned),
        offset: map.number(".offset")?,
        size: map.number(".size")?,
        kind: ArgumentKind::parse(map.text(".value_kind")?),
        address_space: map.optional_text(".address_space")?.map(str::to_owned),
    })
}

/// A `MessagePack` map and the place it describes, for errors.
#[derive(Clone, Copy)]
struct Map<'a> {
    value: &'a Value,
    place: &'a str,
}

impl<'a> Map<'a> {
    fn wrong(&self, key: &str, problem: impl Display) -> ObjectError {
        ObjectError::Metadata { place: format!("{} {key}", self.place), problem: problem.to_string() }
    }

    fn find(&self, key: &str) -> Option<&'a Value> {
        let entries = self.value.as_map()?;
        entries.iter().find(|(name, _)| name.as_str() == Some(key)).map(|(_, value)| value)
    }

    fn get(&self, key: &str) -> Result<&'a Value, ObjectError> {
        self.find(key).ok_or_else(|| self.wrong(key, "missing"))
    }

    fn array(&self, key: &str) -> Result<&'a [Value], ObjectError> {
        self.get(key)?.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong(key, "not an array"))
    }

    fn text(&self, key: &str) -> Result<&'a str, ObjectError> {
        self.get(key)?.as_str().ok_or_else(|| self.wrong(key, "not a string"))
    }

    fn optional_text(&self, key: &str) -> Result<Option<&'a str>, ObjectError> {
        self.find(key).map(|_| self.text(key)).transpose()
    }

    fn number(&self, key: &str) -> Result<u32, ObjectError> {
        let number = self.get(key)?.as_u64().ok_or_else(|| self.wrong(key, "not a number"))?;
        u32::try_from(number).map_err(|_| self.wrong(key, format_args!("{number} is too large")))
    }

    fn optional_number(&self, key: &str) -> Result<Option<u32>, ObjectError> {
        self.find(key).map(|_| self.number(key)).transpose()
    }

    fn triple(&self, key: &str) -> Result<Option<[u32; 3]>, ObjectError> {
        if self.find(key).is_none() {
            return Ok(None);
        }
        let numbers: Option<Vec<u32>> = self
            .array(key)?
            .iter()
            .map(|value| value.as_u64().and_then(|number| u32::try_from(number).ok()))
            .collect();
        let triple = numbers.and_then(|numbers| <[u32; 3]>::try_from(numbers).ok());
        triple.map(Some).ok_or_else(|| self.wrong(key, "not three numbers"))
    }
}
