//! What the kernels cost, against the figures on record.

use std::path::Path;

use assay_cli::quality::{self, Baseline};

#[test]
fn no_kernel_costs_more_than_on_record_and_none_has_scratch() {
    let now = quality::survey(backend_hip::Options::default(), "", |_, _| {}).unwrap();
    for kernel in &now.kernels {
        assert_eq!(kernel.scratch, 0, "{}: bytes of scratch", kernel.kernel);
        assert!(kernel.waves >= 1.0, "{}: {} waves on a SIMD", kernel.kernel, kernel.waves);
    }
    for op in &now.measured {
        assert!(op.bytes >= op.least, "{} {}: {} bytes, {} are needed", op.op, op.case, op.bytes, op.least);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/hip/quality.toml");
    let on_record = Baseline::read(&std::fs::read_to_string(path).unwrap()).unwrap();
    let worse = on_record.worse(&Baseline::of(&now));
    let said: Vec<String> = worse.iter().map(ToString::to_string).collect();
    assert!(
        said.is_empty(),
        "worse than on record (if that is meant: assay gpu report --save kernels/hip/quality.toml):\n{}",
        said.join("\n")
    );
}
