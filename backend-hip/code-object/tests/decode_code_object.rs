//! Reading code objects: what is in a good one, and that a bad one is refused with a reason.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use code_object::{ArgumentKind, CodeObject, Descriptor, KernelNote, KernelSize, ObjectError, UserSgpr};

fn read(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../softhip/tests/objects").join(name)).unwrap()
}

fn parse(name: &str) -> CodeObject {
    CodeObject::parse(&read(name)).unwrap()
}

#[test]
fn lists_explicit_arguments_with_name_offset_size_and_kind() {
    let object = parse("rope.hsaco");
    let kernel = object.kernel("rope_f32").unwrap();
    let arguments: Vec<_> = kernel
        .explicit_arguments()
        .map(|a| (a.name.as_deref().unwrap(), a.offset, a.size, a.kind.clone(), a.address_space.as_deref()))
        .collect();
    let buffer = ArgumentKind::GlobalBuffer;
    assert_eq!(
        arguments,
        [
            ("x", 0, 8, buffer.clone(), Some("global")),
            ("pos", 8, 8, buffer.clone(), Some("global")),
            ("table", 16, 8, buffer, Some("global")),
            ("heads", 24, 4, ArgumentKind::ByValue, None),
            ("dim", 28, 4, ArgumentKind::ByValue, None),
        ]
    );
}

#[test]
fn reads_limits_and_register_counts() {
    let object = parse("rms_norm.hsaco");
    let kernel = object.kernel("rms_norm_f32").unwrap();
    assert_eq!((kernel.kernarg_size, kernel.kernarg_align), (288, 8));
    assert_eq!((kernel.lds_size, kernel.scratch_size), (64, 0));
    assert_eq!((kernel.wavefront_size, kernel.max_flat_workgroup_size), (64, 1024));
    assert!(kernel.sgprs > 0 && kernel.vgprs > 0 && kernel.agprs == 0);
    assert!(u64::from(kernel.descriptor.allocated_vgprs()) >= u64::from(kernel.vgprs));
    assert_eq!(kernel.entry, kernel.code.start);
    let hidden: Vec<_> =
        kernel.arguments.iter().filter(|a| a.kind.is_hidden()).map(|a| a.kind.to_string()).collect();
    assert!(hidden.contains(&"hidden_group_size_x".to_owned()), "{hidden:?}");
}

#[test]
fn descriptor_asks_for_the_kernarg_pointer_and_workgroup_ids() {
    let object = parse("rope.hsaco");
    let descriptor = object.kernel("rope_f32").unwrap().descriptor;
    let asked: Vec<_> = UserSgpr::ALL.into_iter().filter(|&which| descriptor.has_user_sgpr(which)).collect();
    assert_eq!(asked, [UserSgpr::KernargSegmentPtr]);
    assert_eq!(descriptor.user_sgprs(), 2);
    assert_eq!([0, 1, 2].map(|d| descriptor.has_workgroup_id(d)), [true, true, false]);
    assert_eq!(descriptor.workitem_ids(), 0);
}

#[test]
fn float_mode_keeps_denormals_and_rounds_to_nearest() {
    let mode = parse("rope.hsaco").kernel("rope_f32").unwrap().descriptor.float_mode();
    assert_eq!((mode.round_32, mode.round_16_64), (0, 0));
    assert_eq!((mode.denormal_32, mode.denormal_16_64), (3, 3));
    assert!(mode.ieee && mode.dx10_clamp);
}

#[test]
fn a_variable_without_an_initial_value_has_a_place() {
    let object = parse("rope.hsaco");
    let place = object.symbol("__hip_cuid_").unwrap();
    assert_eq!(place, 0x3c70..0x3c71);
    let holder =
        object.image().segments().iter().find(|segment| segment.range().contains(&place.start)).unwrap();
    assert!(holder.writable && holder.bytes.is_empty(), "the file has no bytes for it");
}

#[test]
fn scratch_and_constants_are_where_the_kernels_look_for_them() {
    let object = parse("divergence.hsaco");
    let sort = object.kernel("scratch_sort").unwrap();
    assert!(sort.scratch_size >= 160 && sort.descriptor.has_scratch());
    let table = [2u32, 3, 5, 7].map(u32::to_le_bytes).concat();
    let holder = object.image().segments().iter().find(|s| s.bytes.windows(16).any(|w| w == table));
    let holder = holder.expect("the constants are in a loaded segment");
    assert!(!holder.writable && !holder.executable);
}

#[test]
fn addresses_map_to_source_lines() {
    let object = parse("rope.hsaco");
    let kernel = object.kernel("rope_f32").unwrap();
    let source = String::from_utf8(read("rope.hip")).unwrap();
    let mut lines = std::collections::BTreeSet::new();
    for address in kernel.code.clone().step_by(4) {
        if let Some(location) = object.location(address) {
            assert!(["rope.hip", "./device.h", "device.h"].contains(&location.file), "{location}");
            if location.file == "rope.hip" {
                lines.insert(location.line as usize);
            }
        }
    }
    let position = source
        .lines()
        .position(|line| line.contains("pos[token]) * half") || line.contains("pos[token] * half"));
    let position = position.unwrap() + 1;
    assert!(lines.contains(&position), "line {position} of rope.hip has code: {lines:?}");
    assert_eq!(object.location(kernel.code.end + 0x10_0000), None);
    assert_eq!(object.function_at(kernel.code.start + 8), Some(("rope_f32", 8)));
}

#[test]
fn rejects_an_object_for_another_gpu_and_names_both() {
    let mut bytes = read("rope.hsaco");
    bytes[48] = 0x3f; // e_flags of gfx90a
    let error = CodeObject::parse(&bytes).unwrap_err();
    assert!(matches!(error, ObjectError::OtherGpu { .. }));
    let text = error.to_string();
    assert!(text.contains("gfx90a") && text.contains("gfx942"), "{text}");
}

#[test]
fn rejects_what_is_not_an_amd_code_object() {
    assert!(matches!(CodeObject::parse(b"").unwrap_err(), ObjectError::Elf(_)));
    let mut other_machine = read("rope.hsaco");
    other_machine[18..20].copy_from_slice(&62u16.to_le_bytes());
    assert_eq!(CodeObject::parse(&other_machine).unwrap_err(), ObjectError::NotAmdGpu { machine: 62 });
    let mut relocatable = read("rope.hsaco");
    relocatable[16] = 1;
    assert_eq!(CodeObject::parse(&relocatable).unwrap_err(), ObjectError::NotLinked { kind: 1 });
    let mut other_abi = read("rope.hsaco");
    other_abi[7] = 0;
    assert_eq!(CodeObject::parse(&other_abi).unwrap_err(), ObjectError::NotHsa { abi: 0 });
}

#[test]
fn rejects_metadata_that_contradicts_the_descriptor() {
    let mut bytes = read("rms_norm.hsaco");
    let object = CodeObject::parse(&bytes).unwrap();
    let kernel = object.kernel("rms_norm_f32").unwrap();
    let at = usize::try_from(object.symbol("rms_norm_f32.kd").unwrap().start).unwrap();
    assert_eq!(Descriptor::read(&bytes[at..]).unwrap(), kernel.descriptor, "file offset equals address here");
    bytes[at] ^= 1;
    let error = CodeObject::parse(&bytes).unwrap_err();
    assert!(matches!(
        error,
        ObjectError::Contradiction { what: KernelSize::Lds, metadata: 64, descriptor: 65, .. }
    ));
}

/// Assemblers leave sizes of functions and of arguments out.
#[test]
fn takes_what_assemblers_leave_out() {
    use object::read::elf::ElfFile64;
    use object::{Endianness, Object as _, ObjectSymbol as _};
    let whole = read("atomics.hsaco");
    let before = CodeObject::parse(&whole).unwrap();
    let mut bytes = whole.clone();
    let elf = ElfFile64::<Endianness>::parse(&*whole).unwrap();
    for symbol in elf.symbols().chain(elf.dynamic_symbols()).filter(|symbol| symbol.size() > 0) {
        let raw = symbol.elf_symbol();
        if raw.st_type() == object::elf::STT_FUNC {
            // The entry of the symbol table that `raw` borrows; its last eight bytes are the size.
            let at = std::ptr::from_ref(raw).addr() - whole.as_ptr().addr();
            bytes[at + 16..at + 24].fill(0);
        }
    }
    for kernel in before.kernels() {
        let at = usize::try_from(before.symbol(&format!("{}.kd", kernel.name)).unwrap().start).unwrap();
        bytes[at + 8..at + 12].fill(0);
    }
    let after = CodeObject::parse(&bytes).unwrap();
    assert_eq!(after.kernels().len(), before.kernels().len());
    assert!(before.kernels().len() > 1, "several kernels");
    for (before, after) in before.kernels().iter().zip(after.kernels()) {
        assert_eq!(after.code.start, before.code.start);
        assert!(after.code.end >= before.code.end, "{}", after.name);
        assert_eq!(after.kernarg_size, before.kernarg_size, "the metadata counts");
        let note = KernelNote::KernargSize { metadata: before.kernarg_size, descriptor: 0 };
        assert_eq!((before.notes(), after.notes()), (vec![], vec![note]));
    }
    let mut ends: Vec<_> = after.functions().iter().map(|function| function.code.clone()).collect();
    ends.sort_by_key(|code| code.start);
    assert!(ends.windows(2).all(|pair| pair[0].end == pair[1].start), "each ends where the next starts");
}

#[test]
fn survives_truncation_at_every_length() {
    let bytes = read("rope.hsaco");
    for length in 0..bytes.len() {
        // The file may still be readable when only trailing sections are gone; it must not panic.
        if let Ok(object) = CodeObject::parse(&bytes[..length]) {
            assert_eq!(object.kernels().len(), 1);
        }
    }
}

#[test]
fn survives_mutation_of_any_byte() {
    for (name, step) in [("rope.hsaco", 1), ("divergence.hsaco", 13), ("atomics.hsaco", 17)] {
        let original = read(name);
        let mut refused = 0;
        for at in (0..original.len()).step_by(step) {
            for mask in [0x01, 0x80, 0xff] {
                let mut bytes = original.clone();
                bytes[at] ^= mask;
                match CodeObject::parse(&bytes) {
                    Err(_) => refused += 1,
                    Ok(object) => exercise(&object),
                }
            }
        }
        assert!(refused > 100, "{name}: only {refused} mutants were refused");
    }
}

/// Touches everything a user of the object would.
fn exercise(object: &CodeObject) {
    for kernel in object.kernels() {
        assert!(object.image().is_executable(&kernel.code));
        assert!(kernel.code.contains(&kernel.entry));
        for argument in &kernel.arguments {
            assert!(u64::from(argument.offset) + u64::from(argument.size) <= u64::from(kernel.kernarg_size));
        }
        let _ = object.words(kernel.code.clone());
        let _ = object.location(kernel.entry);
    }
    let loaded = object.image().relocated(0x5_0000_0000);
    assert_eq!(loaded.len(), object.image().segments().len());
}
