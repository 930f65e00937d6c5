//! Logs are read as they are written, here and by other programs, and what is wrong with one is found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use d2h_audit::form::{CHECK, END, START};
use d2h_audit::line::{Line, Moment, lines, text};
use d2h_audit::{Audit, AuditOptions, Copy, Rule, lint};

/// What an engine with this log writes between other lines: pairs, safe copies, a check, trace blocks.
const OTHERS: &str = "\
loading 291 tensors
[D2H_AUDIT_START] op_id=0 ts=1738956000.123456 stream=0x7f1234000000 dev_ptr=0x7f0000000000 host_ptr=0x7f1000000000 bytes=513024 tensor=logits step=0 layer=-1
[D2H_AUDIT_END] op_id=0 ts=1738956000.123789 stream=0x7f1234000000 result=hipSuccess tensor=logits
info: [D2H_AUDIT_START] op_id=1 ts=1738956000.124001 stream=(nil) dev_ptr=0x7f0000100000 host_ptr=0x7f1000100000 bytes=8192 tensor=hidden states step=1 layer=0
[D2H_AUDIT_END] op_id=1 ts=1738956000.124567 stream=(nil) result=hipSuccess tensor=hidden states
...
[D2H SAFE] engaged for tensor=logits_async
[D2H_CHECK] tensor=logits_async step=0 layer=32 src_ptr=0x7f0000000000 dst_ptr=0x7f1000000000 offset=0 size=4096 alloc=4096
[D2H SAFE] async copy succeeded: hipSuccess
[D2H TRACE] logits:before
  src_ptr=0x7f0000000000
  bytes=4096
  stream=0x7f1234000000
[D2H TRACE] logits:after
  dst_ptr=0x7f1000000000
  bytes=4096
";

/// The samples of the reports that the format comes from, as they stand there.
const SAMPLES: &str = "\
[D2H_AUDIT_START] op_id=0 ts=1738956000.123456 stream=0x7f1234000000 dev_ptr=0x7f0000000000 host_ptr=0x7f1000000000 bytes=4096 tensor=logits step=0 layer=-1
[D2H_AUDIT_END] op_id=0 ts=1738956000.123789 stream=0x7f1234000000 result=hipSuccess tensor=logits
[D2H_AUDIT_START] op_id=1 ts=1738956000.124001 stream=0x7f1234000001 dev_ptr=0x7f0000100000 host_ptr=0x7f1000100000 bytes=8192 tensor=hidden_states step=1 layer=0
[D2H_AUDIT_END] op_id=1 ts=1738956000.124567 stream=0x7f1234000001 result=hipSuccess tensor=hidden_states
...
[D2H SAFE] engaged for tensor=logits_async
[D2H_CHECK] tensor=logits_async step=0 layer=32 src_ptr=0x7f0000000000 dst_ptr=0x7f1000000000 offset=0 size=4096 alloc=4096
[D2H SAFE] async copy succeeded: hipSuccess
";

fn rules(text: &str) -> Vec<Rule> {
    lint(text, None).findings.iter().map(|finding| finding.rule).collect()
}

/// One pair of lines, `ts` in microseconds.
fn pair(id: u64, ts: u64) -> String {
    format!(
        "[D2H_AUDIT_START] op_id={id} ts=9.{ts:06} stream=0x1 dev_ptr=0x2 host_ptr=0x3 bytes=4 tensor=q step=0 layer=1\n\
         [D2H_AUDIT_END] op_id={id} ts=9.{:06} stream=0x1 result=hipSuccess tensor=q\n",
        ts + 1
    )
}

#[test]
fn lines_of_other_programs_are_read() {
    let found: Vec<Line> = lines(OTHERS).into_iter().map(|(_, line)| line.unwrap()).collect();
    assert_eq!(found.len(), 9);
    let Line::Start(start) = &found[2] else { panic!("{found:?}") };
    assert_eq!((start.tensor.as_str(), start.layer, start.bytes), ("hidden states", Some(0), 8192));
    assert_eq!(start.ts, 1_738_956_000_124_001_000);
    let Line::Trace(trace) = &found[7] else { panic!("{found:?}") };
    assert_eq!((trace.moment, trace.bytes), (Moment::Before, 4096));
    let linted = lint(OTHERS, None);
    assert_eq!((linted.findings.as_slice(), linted.pairs, linted.lines), (&[][..], 2, 9));
}

/// Logs that went through another shell, or were cut in the middle of a character.
#[test]
fn logs_in_other_encodings_are_read() {
    let units = |order: fn(u16) -> [u8; 2]| {
        let all = std::iter::once(0xfeff).chain(OTHERS.encode_utf16());
        all.flat_map(order).collect::<Vec<u8>>()
    };
    let windows = OTHERS.replace('\n', "\r\n").into_bytes();
    let marked = [b"\xef\xbb\xbf", OTHERS.as_bytes()].concat();
    let cut = [OTHERS.as_bytes(), b"caf\xc3"].concat();
    for bytes in [units(u16::to_le_bytes), units(u16::to_be_bytes), windows, marked, cut] {
        let linted = lint(&text(&bytes), None);
        assert_eq!((linted.findings.as_slice(), linted.pairs, linted.lines), (&[][..], 2, 9));
    }
}

#[test]
fn the_samples_of_the_reports_are_clean() {
    let linted = lint(SAMPLES, None);
    assert_eq!((linted.findings.as_slice(), linted.pairs, linted.lines), (&[][..], 2, 7));
    let (first, second) = (&linted.started[0], &linted.started[1]);
    assert_eq!((first.bytes, first.layer, second.bytes, second.layer), (4096, None, 8192, Some(0)));
}

#[test]
fn text_without_a_line_of_the_log_has_none() {
    assert_eq!(lint("Generation error: hipMemcpy D2H failed\n", None).lines, 0);
}

#[test]
fn each_planted_fault_is_found() {
    let whole = pair(0, 1) + &pair(1, 3) + &pair(2, 5);
    assert_eq!(rules(&whole), []);
    let without = |at: usize| {
        let kept = whole.lines().enumerate().filter(|(line, _)| *line != at).map(|(_, line)| line);
        kept.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(rules(&without(0)), [Rule::Unpaired, Rule::Gap], "an end without its start");
    assert_eq!(rules(&without(3)), [Rule::Unpaired], "a start without its end");
    assert_eq!(rules(&(pair(0, 1) + &pair(2, 3))), [Rule::Gap]);
    assert_eq!(rules(&(pair(0, 1) + &pair(0, 3))), [Rule::Repeated]);
    assert_eq!(rules(&(pair(0, 9) + &pair(1, 3))), [Rule::Time]);
    let changed = |from: &str, to: &str| rules(&pair(0, 1).replacen(from, to, 1));
    assert_eq!(changed("result=hipSuccess", "result=hipErrorIllegalAddress"), [Rule::Failed]);
    assert_eq!(changed("hipSuccess tensor=q", "hipSuccess tensor=k"), [Rule::Mismatch]);
    assert_eq!(changed("stream=0x1 result", "stream=0x9 result"), [Rule::Mismatch]);
    assert_eq!(changed("bytes=4", "bytes=0"), [Rule::Size]);
    assert_eq!(changed("bytes=4", "bytes=99999999999999999999999"), [Rule::Malformed, Rule::Unpaired]);
    assert_eq!(
        changed("step=0 layer=1", "layer=1 step=0"),
        [Rule::Malformed, Rule::Unpaired],
        "another order"
    );
    assert_eq!(changed("layer=1", "layer=-2"), [Rule::Malformed, Rule::Unpaired]);
    assert_eq!(changed("ts=9.000001", "ts=yesterday"), [Rule::Malformed, Rule::Unpaired]);
    assert_eq!(rules(&whole[..whole.len() - 30]), [Rule::Unpaired, Rule::Malformed], "cut off");
    let check = OTHERS.replace("offset=0 size=4096", "offset=8 size=4096");
    assert_eq!(rules(&check), [Rule::Extent]);
    let check = OTHERS.replace("offset=0 size=4096", "offset=18446744073709551615 size=4096");
    assert_eq!(rules(&check), [Rule::Extent]);
    for words in
        ["Stream sync failed before logits: an illegal memory access", "Async copy failed logits: unknown"]
    {
        assert_eq!(rules(&OTHERS.replace("async copy succeeded: hipSuccess", words)), [Rule::Failed]);
    }
    let source = r#"std::cerr << "[D2H SAFE] Stream sync failed before " << name << ": ""#;
    assert_eq!(rules(&format!("{OTHERS}{source}\n")), [], "source code in a report is no failure");
    assert_eq!(rules(&OTHERS.replace("logits:after", "v:after")), [Rule::Unpaired, Rule::Unpaired]);
    assert_eq!(rules(&OTHERS.replace("logits:after", "logits:during")), [Rule::Unpaired, Rule::Malformed]);
}

#[test]
fn sizes_are_what_the_caller_allows() {
    let allows = |start: &d2h_audit::line::Start| {
        (!start.bytes.is_multiple_of(4096)).then(|| format!("{} bytes of {}", start.bytes, start.tensor))
    };
    let linted = lint(OTHERS, Some(&allows));
    assert_eq!(linted.findings.len(), 1);
    assert_eq!(linted.findings[0].to_string(), "line 2: size: op_id 0: 513024 bytes of logits");
}

fn written(options: &AuditOptions, names: &[&str], result: Result<(), &str>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("d2h.log");
    let audit = Audit::new(AuditOptions { log: Some(log.clone()), ..options.clone() }).unwrap();
    for name in names {
        let mut copy = Copy::of(*name);
        (copy.bytes, copy.allocation, copy.stream) = (16, 64, 5);
        audit.started(&mut copy);
        audit.ended(&copy, result);
    }
    std::fs::read_to_string(log).unwrap()
}

/// The names of the fields of a line, in their order.
fn fields(line: &str) -> Vec<&str> {
    line.split_whitespace().filter_map(|word| Some(word.split_once('=')?.0)).collect()
}

#[test]
fn lines_written_now_have_the_known_fields_in_the_known_order() {
    let audit = AuditOptions { audit: true, debug: true, ..AuditOptions::default() };
    let text = written(&audit, &["logits"], Ok(()));
    for tag in [START.tag, END.tag, CHECK.tag] {
        let sample = SAMPLES.lines().find(|line| line.starts_with(tag)).unwrap();
        let ours = text.lines().find(|line| line.starts_with(tag)).unwrap();
        assert_eq!(fields(ours), fields(sample), "{tag}");
    }
    assert!(text.contains("[D2H SAFE] engaged for tensor=logits\n"), "{text}");
    let block = written(&AuditOptions { trace: true, ..AuditOptions::default() }, &["logits"], Ok(()));
    let of_others = OTHERS.split_once("[D2H TRACE]").unwrap().1;
    assert_eq!(
        block.lines().flat_map(fields).collect::<Vec<_>>(),
        of_others.lines().flat_map(fields).collect::<Vec<_>>()
    );
}

#[test]
fn a_log_written_here_is_clean_and_a_failure_in_it_is_found() {
    let all = || AuditOptions { audit: true, debug: true, trace: true, log: None };
    let linted = lint(&written(&all(), &["q", "k", "logits"], Ok(())), None);
    assert_eq!((linted.findings.as_slice(), linted.pairs), (&[][..], 3));
    let failed = lint(&written(&all(), &["q"], Err("hipErrorIllegalAddress")), None);
    assert_eq!(failed.findings.iter().map(|f| f.rule).collect::<Vec<_>>(), [Rule::Failed, Rule::Failed]);
}

#[test]
fn a_tensor_s_name_forges_no_line() {
    let name = "q\n[D2H_AUDIT_END] op_id=7 ts=1.0 stream=0x0 result=hipSuccess tensor=q";
    let linted =
        lint(&written(&AuditOptions { audit: true, ..AuditOptions::default() }, &[name], Ok(())), None);
    assert_eq!((linted.lines, linted.pairs), (2, 1));
}
