//! The backend on the software device: memory, copies, order, faults, and the log of copies.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use backend_hip::{DeviceBuffer, HipBackend, HipStream, Options};
use d2h_audit::AuditOptions;
use kernels::ops::RmsNorm;
use kernels::{Backend, Buffer, DType, DeviceError, Layout, Op, Pending, Phase, Site, Source, View, ViewMut};
use softhip::control::{Options as SoftOptions, SoftDevice};
use softhip::sched::Policy;

const SCHEDULES: [Policy; 3] = [Policy::Eager, Policy::Deferred, Policy::Random(7)];

fn backend(policy: Policy, options: Options) -> HipBackend {
    HipBackend::software(SoftOptions { policy, ..SoftOptions::default() }, options).unwrap()
}

/// `out = x / rms(x)` over one row of `n`, which the operands are supposed to have.
fn rms_norm<'a>(
    n: usize,
    x: &'a DeviceBuffer,
    weight: &'a DeviceBuffer,
    out: &'a mut DeviceBuffer,
) -> Op<'a, DeviceBuffer> {
    let row = Layout::contiguous(DType::F32, &[1, n]);
    Op::RmsNorm(RmsNorm {
        x: Source::Of(View::new(x, row)),
        weight: View::new(weight, Layout::contiguous(DType::F32, &[n])),
        out: ViewMut::new(out, row),
        eps: 0.0,
    })
}

fn f32s(bytes: &[u8]) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(bytes)
}

fn upload(backend: &HipBackend, stream: &HipStream, values: &[f32], label: &str) -> DeviceBuffer {
    backend.upload(stream, bytemuck::cast_slice(values), label).unwrap()
}

#[test]
fn what_is_written_comes_back_under_every_schedule() {
    for policy in SCHEDULES {
        let backend = backend(policy, Options::default());
        let stream = backend.stream().unwrap();
        // More than one chunk of the ring, and then more copies than it has chunks.
        let large: Vec<u8> = (0..9_000_001_u32).map(|i| i.to_le_bytes()[0] ^ i.to_le_bytes()[1]).collect();
        let mut buffer = backend.upload(&stream, &large, "large").unwrap();
        for (i, byte) in large.iter().enumerate().step_by(1_000_000) {
            backend.write(&stream, &mut buffer, i, &[!byte]).unwrap();
        }
        let mut expected = large;
        expected.iter_mut().step_by(1_000_000).for_each(|byte| *byte = !*byte);
        let read = backend.read_bytes(&stream, &buffer, 0..buffer.len(), &Site::outside("large")).unwrap();
        assert!(read.wait().unwrap() == expected, "{policy:?}");
    }
}

#[test]
fn a_second_stream_waits_for_an_event_of_the_first() {
    for policy in SCHEDULES {
        let backend = backend(policy, Options::default());
        let (first, second) = (backend.stream().unwrap(), backend.stream().unwrap());
        let x = upload(&backend, &first, &[3.0, 4.0], "x");
        let weight = upload(&backend, &first, &[1.0, 1.0], "weight");
        let mut out = backend.alloc(8, "out").unwrap();
        backend.launch(&first, rms_norm(2, &x, &weight, &mut out).validate().unwrap()).unwrap();
        let done = backend.record(&first).unwrap();
        backend.wait_event(&second, &done).unwrap();
        let got = backend.read_bytes(&second, &out, 0..8, &Site::outside("out")).unwrap().wait().unwrap();
        let rms = 12.5_f32.sqrt();
        for (got, want) in f32s(&got).into_iter().zip([3.0 / rms, 4.0 / rms]) {
            assert!((got - want).abs() < 1e-6, "{policy:?}: {got} for {want}");
        }
    }
}

#[test]
fn a_copy_that_is_not_ordered_after_the_kernel_is_reported_as_a_race() {
    let backend = backend(Policy::Deferred, Options::default());
    let (first, second) = (backend.stream().unwrap(), backend.stream().unwrap());
    let x = upload(&backend, &first, &[3.0, 4.0], "x");
    let weight = upload(&backend, &first, &[1.0, 1.0], "weight");
    let mut out = backend.alloc(8, "out").unwrap();
    backend.synchronize(&first).unwrap();
    backend.launch(&first, rms_norm(2, &x, &weight, &mut out).validate().unwrap()).unwrap();
    let read = backend.read_bytes(&second, &out, 0..8, &Site::outside("out")).unwrap();
    let error = read.wait().and_then(|_| backend.synchronize(&first)).unwrap_err();
    assert!(matches!(&error, DeviceError::Fault(report) if report.contains("'out'")), "{error}");
}

#[test]
fn transfers_outside_a_buffer_are_refused_with_the_numbers() {
    let backend = backend(Policy::Eager, Options::default());
    let stream = backend.stream().unwrap();
    let mut buffer = backend.alloc(16, "sixteen").unwrap();
    let read = backend.read_bytes(&stream, &buffer, 8..17, &Site::outside("x")).unwrap_err();
    assert_eq!(read.to_string(), "read: bytes 8..17 of 'sixteen', which has 16");
    let write = backend.write(&stream, &mut buffer, 15, &[0, 0]).unwrap_err();
    assert_eq!(write.to_string(), "write: bytes 15..17 of 'sixteen', which has 16");
}

#[test]
fn a_failed_allocation_is_a_value_and_the_next_one_works() {
    let device = Arc::new(SoftDevice::new(SoftOptions { memory_bytes: 1 << 20, ..SoftOptions::default() }));
    let backend = HipBackend::on_software(Arc::clone(&device), Options::default()).unwrap();
    let error = backend.alloc(1 << 21, "too large").unwrap_err();
    assert!(
        matches!(&error, DeviceError::OutOfMemory { label, requested: 2_097_152, available } if label == "too large" && *available > 0),
        "{error}"
    );
    device.fail_allocation(1);
    assert!(matches!(backend.alloc(16, "unlucky"), Err(DeviceError::OutOfMemory { .. })));
    assert!(backend.alloc(16, "lucky").is_ok());
}

/// A norm of one row on new buffers, from the host and back.
fn norm(backend: &HipBackend) -> Result<Vec<f32>, DeviceError> {
    let stream = backend.stream()?;
    let values = [3.0f32, 4.0];
    let x = backend.upload(&stream, bytemuck::cast_slice(&values), "x")?;
    let weight = backend.upload(&stream, bytemuck::cast_slice(&[1.0f32, 1.0]), "weight")?;
    let mut out = backend.alloc(8, "out")?;
    backend.launch(&stream, rms_norm(2, &x, &weight, &mut out).validate().unwrap())?;
    let read = backend.read_bytes(&stream, &out, 0..8, &Site::outside("out"))?;
    Ok(f32s(&read.wait()?))
}

#[test]
fn whichever_allocation_fails_the_error_is_a_value_and_the_backend_goes_on() {
    let whole = norm(&backend(Policy::Eager, Options::default())).unwrap();
    let mut failed = 0;
    for n in 1.. {
        let device = Arc::new(SoftDevice::new(SoftOptions::default()));
        let backend = HipBackend::on_software(Arc::clone(&device), Options::default()).unwrap();
        device.fail_allocation(n);
        match norm(&backend) {
            Ok(out) => {
                assert_eq!(out, whole);
                break;
            }
            Err(error) => {
                failed += 1;
                let text = error.to_string();
                assert!(text.contains("bytes") || text.contains("OutOfMemory"), "allocation {n}: {text}");
            }
        }
        assert_eq!(norm(&backend).unwrap(), whole, "after allocation {n} failed");
    }
    assert!(failed >= 6, "three buffers and three pinned ones can fail, {failed} did");
}

#[test]
fn memory_that_was_never_written_is_named_when_a_kernel_reads_it() {
    let backend = backend(Policy::Eager, Options { sync_per_op: true, ..Options::default() });
    let stream = backend.stream().unwrap();
    let x = backend.alloc(8, "activations").unwrap();
    let weight = upload(&backend, &stream, &[1.0, 1.0], "weight");
    let mut out = backend.alloc(8, "out").unwrap();
    let error = backend.launch(&stream, rms_norm(2, &x, &weight, &mut out).validate().unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("'activations'") && text.contains("rms_norm"), "{text}");
    assert!(text.contains("rms_norm.hip") && text.contains("src/ops/rms_norm.rs"), "{text}");
}

#[test]
fn the_log_pairs_every_copy_and_counts_without_gaps() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("d2h.log");
    let audit = AuditOptions { audit: true, log: Some(log.clone()), debug: true, trace: true };
    let backend = backend(Policy::Deferred, Options { audit, ..Options::default() });
    let stream = backend.stream().unwrap();
    let buffer = upload(&backend, &stream, &[1.0; 64], "logits");
    for step in 0..3 {
        let site =
            Site { step, phase: Phase::Decode, layer: (step == 1).then_some(7), point: "logits".into() };
        backend.read_bytes(&stream, &buffer, 64..256, &site).unwrap().wait().unwrap();
    }
    let text = std::fs::read_to_string(log).unwrap();
    for (id, (step, layer)) in [(0, -1), (1, 7), (2, -1)].into_iter().enumerate() {
        let start =
            text.lines().find(|l| l.starts_with(&format!("[D2H_AUDIT_START] op_id={id} ts="))).unwrap();
        assert!(start.ends_with(&format!(" bytes=192 tensor=logits step={step} layer={layer}")), "{start}");
        let fields: Vec<_> =
            start.split(' ').filter_map(|f| f.split_once('=')).map(|(name, _)| name).collect();
        let known = ["op_id", "ts", "stream", "dev_ptr", "host_ptr", "bytes", "tensor", "step", "layer"];
        assert_eq!(fields, known);
        let end = text.lines().find(|l| l.starts_with(&format!("[D2H_AUDIT_END] op_id={id} ts="))).unwrap();
        assert!(end.ends_with(" result=hipSuccess tensor=logits"), "{end}");
    }
    assert_eq!(text.lines().filter(|l| l.starts_with("[D2H_AUDIT_")).count(), 6);
    let check = text.lines().find(|l| l.starts_with("[D2H_CHECK]")).unwrap();
    assert!(check.ends_with(" offset=64 size=192 alloc=256"), "{check}");
    for block in
        ["[D2H SAFE] engaged for tensor=logits", "[D2H TRACE] logits:before", "[D2H TRACE] logits:after"]
    {
        assert_eq!(text.lines().filter(|l| *l == block).count(), 3, "{block}");
    }
}

#[test]
fn a_log_that_cannot_be_made_is_an_error_at_once() {
    let audit =
        AuditOptions { audit: true, log: Some("/no/such/folder/log".into()), ..AuditOptions::default() };
    assert!(HipBackend::software(SoftOptions::default(), Options { audit, ..Options::default() }).is_err());
}
