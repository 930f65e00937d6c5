//! Coverage of machine code as text, JSON and a page: which blocks and branch directions of kernels were reached on the software device.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use softhip::dataflow::{self, skips_nothing};
use softhip::isa::{Inst, Op};
use softhip::trace::{Block, Direction, Traced};

use super::html::{begin, escape};
use super::thousands;
use super::unreached::{Item, Missing};

/// What was reached of some kernels.
#[derive(Debug)]
pub struct Coverage {
    kernels: Vec<Kernel>,
    /// Kernels of the objects that nothing launched.
    idle: Vec<String>,
}

/// What was reached of a kernel.
#[derive(Debug)]
struct Kernel {
    traced: Arc<Traced>,
    blocks: Count,
    directions: Count,
    /// Blocks that no wave came to, by their instructions.
    unreached: Vec<Range<usize>>,
    /// Branches of reached blocks that never went one of their ways.
    one_way: Vec<Direction>,
    /// Jumps that no wave made and none needs: over what does nothing without a lane. They are not among the directions.
    skips: usize,
    /// Blocks and directions that no wave can come to, by the masks that are branched on. They are not among the others, either.
    impossible: usize,
}

/// How many of how many.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Count {
    reached: usize,
    all: usize,
}

impl Count {
    fn of(reached: impl Iterator<Item = bool>) -> Self {
        reached.fold(Count::default(), |count, reached| Count {
            reached: count.reached + usize::from(reached),
            all: count.all + 1,
        })
    }

    fn plus(self, other: Self) -> Self {
        Count { reached: self.reached + other.reached, all: self.all + other.all }
    }

    fn missing(self) -> usize {
        self.all - self.reached
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{} of {}", thousands(self.reached), thousands(self.all)))
    }
}

impl Kernel {
    fn new(traced: Arc<Traced>) -> Self {
        let impossible = dataflow::impossible(traced.code());
        let (dead, blocks): (Vec<Block>, Vec<Block>) = traced
            .blocks()
            .into_iter()
            .partition(|block| !block.reached && impossible.instructions.contains(&block.code.start));
        let missed = blocks.iter().filter(|block| !block.reached).map(|block| block.code.clone()).collect();
        let code = traced.code();
        let unreached = |way: &Direction| !way.reached && traced.executed(way.branch);
        let ruled_out = |way: &Direction| {
            let alone = unreached(way) && impossible.ways.contains(&(way.branch, way.taken));
            alone || impossible.instructions.contains(&way.branch)
        };
        let (ruled_out, directions): (Vec<Direction>, Vec<Direction>) =
            traced.directions().into_iter().partition(ruled_out);
        // For a wave without a lane such a branch's ways are the same, and waves with lanes have gone theirs.
        let without_lanes = |way: &Direction| way.taken == (code[way.branch].op == Op::s_cbranch_execz);
        let (skipped, directions): (Vec<Direction>, Vec<Direction>) = directions
            .into_iter()
            .partition(|way| unreached(way) && without_lanes(way) && skips_nothing(code, way.branch));
        let one_way = directions.iter().filter(|way| unreached(way)).copied().collect();
        Kernel {
            blocks: Count::of(blocks.iter().map(|block| block.reached)),
            directions: Count::of(directions.iter().map(|way| way.reached)),
            unreached: missed,
            one_way,
            skips: skipped.len(),
            impossible: ruled_out.len() + dead.len(),
            traced,
        }
    }

    fn is_whole(&self) -> bool {
        self.blocks.missing() + self.directions.missing() == 0
    }

    /// Bytes from the kernel's first instruction.
    fn offset(&self, index: usize) -> u64 {
        let pc = |index: usize| self.traced.code().get(index).map_or(0, |inst| inst.pc);
        pc(index) - pc(0)
    }

    /// Where an instruction comes from.
    fn line(&self, index: usize) -> Option<String> {
        let inst = self.traced.code().get(index)?;
        self.traced.object().location(inst.pc).map(|at| format!("{}:{}", at.file, at.line))
    }

    /// The source lines of some instructions, each once.
    fn lines(&self, code: Range<usize>) -> String {
        let mut lines: Vec<String> = code.filter_map(|index| self.line(index)).collect();
        lines.dedup();
        lines.sort_unstable();
        lines.dedup();
        if lines.is_empty() { "no source line".into() } else { lines.join(", ") }
    }

    /// What is missing.
    fn items(&self) -> Vec<Item> {
        let lines = |code: Range<usize>| {
            let mut lines: Vec<String> = code.filter_map(|index| self.line(index)).collect();
            lines.sort_unstable();
            lines.dedup();
            lines
        };
        let blocks = self.unreached.iter().map(|code| (Missing::Block, lines(code.clone())));
        let ways = self.one_way.iter().map(|way| {
            let missing = if way.taken { Missing::Taken } else { Missing::NotTaken };
            (missing, lines(way.branch..way.branch + 1))
        });
        let item =
            |((missing, lines), text)| Item { kernel: self.traced.kernel().into(), missing, lines, text };
        blocks.chain(ways).zip(self.missing()).map(item).collect()
    }

    /// What is missing, in sentences, in the order of [`items`](Kernel::items).
    fn missing(&self) -> Vec<String> {
        let blocks = self.unreached.iter().map(|code| {
            let (at, count) = (self.offset(code.start), code.len());
            let plural = if count == 1 { "" } else { "s" };
            format!("+{at:#x}: {count} instruction{plural} not reached, {}", self.lines(code.clone()))
        });
        let ways = self.one_way.iter().map(|way| {
            let (at, said) =
                (self.offset(way.branch), if way.taken { "never taken" } else { "always taken" });
            let branch = self.traced.code().get(way.branch).map(Inst::to_string).unwrap_or_default();
            format!("+{at:#x}: {branch} is {said}, {}", self.lines(way.branch..way.branch + 1))
        });
        blocks.chain(ways).collect()
    }
}

impl Coverage {
    /// What launches of this process have reached since it began to look, of kernels among which are those called `expected`.
    pub fn here(expected: impl IntoIterator<Item = String>) -> Self {
        let mut kernels: Vec<_> = softhip::trace::kernels().into_iter().map(Kernel::new).collect();
        kernels.retain(|kernel| kernel.blocks.reached > 0);
        let launched = |name: &String| kernels.iter().any(|kernel| kernel.traced.kernel() == name.as_str());
        let idle = expected.into_iter().filter(|name| !launched(name)).collect::<BTreeSet<_>>();
        Coverage { idle: idle.into_iter().collect(), kernels }
    }

    /// All that is missing.
    pub fn missing(&self) -> Vec<Item> {
        self.kernels.iter().flat_map(Kernel::items).collect()
    }

    fn blocks(&self) -> Count {
        self.kernels.iter().fold(Count::default(), |sum, kernel| sum.plus(kernel.blocks))
    }

    fn directions(&self) -> Count {
        self.kernels.iter().fold(Count::default(), |sum, kernel| sum.plus(kernel.directions))
    }

    /// What is set apart, in sentences.
    fn set_apart(&self) -> Vec<String> {
        let sum = |of: fn(&Kernel) -> usize| self.kernels.iter().map(of).sum::<usize>();
        let classes = [
            (
                sum(|kernel| kernel.skips),
                "jumps on EXEC = 0 that no wave made, over instructions that do nothing then: both ways are the same",
            ),
            (
                sum(|kernel| kernel.impossible),
                "blocks and directions that no wave can come to, because the mask that is branched on is known",
            ),
        ];
        let said = |(count, what): (usize, &str)| (count > 0).then(|| format!("{} {what}", thousands(count)));
        classes.into_iter().filter_map(said).collect()
    }

    /// The sums, and every kernel of which something is missing.
    pub fn text(&self) -> String {
        let mut text = format!(
            "coverage of {} kernels on the software device: {} blocks, {} branch directions\n",
            self.kernels.len(),
            self.blocks(),
            self.directions()
        );
        for class in self.set_apart() {
            let _ = writeln!(text, "set apart: {class}");
        }
        for kernel in self.kernels.iter().filter(|kernel| !kernel.is_whole()) {
            let (name, blocks, ways) = (kernel.traced.kernel(), kernel.blocks, kernel.directions);
            let _ = writeln!(text, "  {name}: {blocks} blocks, {ways} directions");
        }
        if !self.idle.is_empty() {
            let _ = writeln!(text, "not launched: {}", self.idle.join(", "));
        }
        text
    }

    /// Everything, for programs.
    pub fn json(&self) -> Value {
        let count = |count: Count| json!({ "reached": count.reached, "all": count.all });
        let kernel = |kernel: &Kernel| {
            let block = |code: &Range<usize>| json!({ "offset": kernel.offset(code.start), "instructions": code.len(), "lines": kernel.lines(code.clone()) });
            let way = |way: &Direction| json!({ "offset": kernel.offset(way.branch), "missing": if way.taken { "taken" } else { "not taken" }, "line": kernel.line(way.branch) });
            json!({
                "kernel": kernel.traced.kernel(),
                "blocks": count(kernel.blocks),
                "directions": count(kernel.directions),
                "skips_of_nothing": kernel.skips,
                "impossible": kernel.impossible,
                "unreached": kernel.unreached.iter().map(block).collect::<Vec<_>>(),
                "one_way": kernel.one_way.iter().map(way).collect::<Vec<_>>(),
            })
        };
        json!({
            "device": "software device: checked emulation, not a run on silicon",
            "blocks": count(self.blocks()),
            "directions": count(self.directions()),
            "set_apart": self.set_apart(),
            "not_launched": self.idle,
            "kernels": self.kernels.iter().map(kernel).collect::<Vec<_>>(),
        })
    }

    /// Writes it to a file: JSON where its name ends in `.json`, else the page.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        let text = if json { format!("{:#}\n", self.json()) } else { self.page() };
        output_file::write(path, text.as_bytes())
    }

    /// The page.
    pub fn page(&self) -> String {
        let mut page = begin("Assay coverage", include_str!("coverage.css"));
        let whole = self.blocks().missing() + self.directions().missing() + self.idle.len() == 0;
        let verdict =
            if whole { "every block and both ways of every branch" } else { "not everything was reached" };
        let _ = write!(
            page,
            "<h1>Assay coverage: {verdict}</h1>\n<p>Machine code of gfx942 kernels that waves executed on the software device (checked \
             emulation, not a run on silicon). A block is a run of instructions without a branch in or out; a conditional branch has two \
             directions, to its target and to the next instruction.</p>\n<ul class=\"totals\">\n"
        );
        for (count, what) in [(self.blocks(), "blocks"), (self.directions(), "branch directions")] {
            let class = if count.missing() == 0 { "good" } else { "bad" };
            let _ = writeln!(page, "<li class=\"{class}\"><b>{count}</b>{what} reached</li>");
        }
        let partial = self.kernels.iter().filter(|kernel| !kernel.is_whole()).count();
        let class = if partial == 0 { "good" } else { "bad" };
        let kernels = self.kernels.len();
        let _ = writeln!(
            page,
            "<li class=\"{class}\"><b>{partial} of {kernels}</b>kernels with something missing</li>\n</ul>"
        );
        for class in self.set_apart() {
            let _ = writeln!(page, "<p>Set apart: {}.</p>", escape(&class));
        }
        if !self.idle.is_empty() {
            let _ = writeln!(
                page,
                "<p class=\"partial\"><b>Not launched:</b> <code>{}</code></p>",
                escape(&self.idle.join(", "))
            );
        }
        page.push_str(
            "<div class=\"wide\"><table class=\"stack\"><thead><tr><th>kernel</th><th>instructions</th><th>blocks</th><th>directions</th></tr></thead>\n<tbody>\n",
        );
        for (at, kernel) in self.kernels.iter().enumerate() {
            let class = |count: Count| if count.missing() == 0 { "good" } else { "bad" };
            let _ = writeln!(
                page,
                "<tr><td data-label=\"kernel\"><a href=\"#k{at}\"><code>{}</code></a></td><td data-label=\"instructions\">{}</td>\
                 <td data-label=\"blocks\" class=\"{}\">{}</td><td data-label=\"directions\" class=\"{}\">{}</td></tr>",
                escape(kernel.traced.kernel()),
                thousands(kernel.traced.code().len()),
                class(kernel.blocks),
                kernel.blocks,
                class(kernel.directions),
                kernel.directions
            );
        }
        page.push_str("</tbody></table></div>\n<h2>Listings</h2>\n<p><span class=\"hit\">reached</span> <span class=\"miss\">not reached</span> <span class=\"half\">a branch that went one way only</span></p>\n");
        for (at, kernel) in self.kernels.iter().enumerate() {
            listing(&mut page, at, kernel);
        }
        page.push_str("</body>\n</html>\n");
        page
    }
}

/// The disassembly of a kernel, coloured, with its source lines.
fn listing(page: &mut String, at: usize, kernel: &Kernel) {
    let name = escape(kernel.traced.kernel());
    let _ = writeln!(
        page,
        "<details id=\"k{at}\"><summary><code>{name}</code> {} blocks</summary>",
        kernel.blocks
    );
    let missing = kernel.missing();
    if !missing.is_empty() {
        page.push_str("<ul class=\"missing\">\n");
        for line in &missing {
            let _ = writeln!(page, "<li>{}</li>", escape(line));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("<pre>");
    let mut source = None;
    for block in kernel.traced.blocks() {
        let _ = write!(page, "<span class=\"{}\">", if block.reached { "hit" } else { "miss" });
        for index in block.code {
            let line = kernel.line(index);
            if line.is_some() && line != source {
                let _ = writeln!(page, "{:8}; {}", "", escape(line.as_deref().unwrap_or_default()));
                source = line;
            }
            let inst = kernel.traced.code().get(index).map(Inst::to_string).unwrap_or_default();
            let text = format!("+{:#06x} {}", kernel.offset(index), escape(&inst));
            if kernel.one_way.iter().any(|way| way.branch == index) {
                let _ = writeln!(page, "<span class=\"half\">{text}</span>");
            } else {
                let _ = writeln!(page, "{text}");
            }
        }
        page.push_str("</span>");
    }
    page.push_str("</pre>\n</details>\n");
}
