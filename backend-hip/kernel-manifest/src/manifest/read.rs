//! From the text of a manifest to its entries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kernels::{Arrangement, DType, OperandKind, Stem};
use toml::Spanned;

use super::raw::{self, Text, Texts};
use super::{
    ArgumentEntry, ArgumentWhat, Declared, Entry, LaunchEntry, Manifest, ManifestError, Mistake, Scalar,
    Stated,
};
use crate::expression::Expression;
use crate::vocabulary;

/// Where lines end.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Lines(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of a byte, from 1.
    pub fn of(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }
}

/// The op that expressions are about, and the names of its manifest.
pub(super) struct Owner<'o> {
    stem: Stem,
    own: &'o dyn Fn(&str) -> bool,
}

impl Owner<'_> {
    /// An expression whose names the op has.
    pub fn stated(&self, lines: &Lines, text: &Spanned<Text>, what: &str) -> Result<Stated, Mistake> {
        self.expression(lines.of(text.span().start), &text.get_ref().0, what)
    }

    fn several(&self, lines: &Lines, texts: &Spanned<Texts>, what: &str) -> Result<Vec<Stated>, Mistake> {
        let line = lines.of(texts.span().start);
        let list = &texts.get_ref().0;
        if list.is_empty() || list.len() > 3 {
            let what = format!("{what} has {} dimensions, want 1 to 3", list.len());
            return Err(Mistake { line, what });
        }
        list.iter().map(|text| self.expression(line, text, what)).collect()
    }

    fn expression(&self, line: usize, text: &str, what: &str) -> Result<Stated, Mistake> {
        let wrong = |why: String| Mistake { line, what: format!("{what} '{text}': {why}") };
        let expression = Expression::parse(text).map_err(|error| wrong(error.to_string()))?;
        for name in expression.names() {
            vocabulary::check(self.stem, self.own, name).map_err(&wrong)?;
        }
        Ok(Stated { line, what: what.into(), expression })
    }
}

impl Manifest {
    /// Reads the manifest in `file`.
    pub fn open(file: &Path) -> Result<Self, ManifestError> {
        let unreadable =
            |error: std::io::Error| ManifestError { file: file.into(), line: None, what: error.to_string() };
        Self::parse(file, &input_file::read_text(file, LONGEST).map_err(unreadable)?)
    }

    /// The manifest with the given text; `file` is its name in messages.
    pub fn parse(file: &Path, text: &str) -> Result<Self, ManifestError> {
        let at = |line, what| ManifestError { file: file.into(), line, what };
        let lines = Lines::new(text);
        let raw: raw::Manifest = toml::from_str(text).map_err(|error| {
            at(error.span().map(|span| lines.of(span.start)), error.message().replace('\n', " "))
        })?;
        if raw.op.is_empty() {
            return Err(at(None, "it has no [[op]]".into()));
        }
        let entries = raw.op.iter().map(|op| entry(op, &lines));
        let entries: Vec<Entry> =
            entries.collect::<Result<_, _>>().map_err(|Mistake { line, what }| at(Some(line), what))?;
        Ok(Manifest { file: file.into(), entries: entries.into() })
    }
}

/// Bytes of the longest manifest.
const LONGEST: u64 = 4 << 20;

/// Names that a manifest may give to values of an op. Those that need each other are looked for in as many rounds.
const MOST_NAMES: usize = 256;

fn entry(raw: &raw::Op, lines: &Lines) -> Result<Entry, Mistake> {
    let line = lines.of(raw.name.span().start);
    let stem: Stem =
        raw.name.get_ref().parse().map_err(|error| Mistake { line, what: format!("{error}") })?;
    let names: Vec<String> = raw.own.keys().map(|name| name.get_ref().clone()).collect();
    let own = |name: &str| names.iter().any(|known| known == name);
    let owner = Owner { stem, own: &own };
    let own_names = own_names(&raw.own, lines, &owner)?;
    let workspaces = workspaces(raw, lines, &owner)?;
    let mut entry = Entry {
        stem,
        line,
        types: types(&raw.types, lines, stem)?,
        layouts: layouts(&raw.layouts, lines, stem)?,
        supports: raw
            .supports
            .iter()
            .map(|text| owner.stated(lines, text, "supports"))
            .collect::<Result<_, _>>()?,
        own: own_names,
        zeroed: zeroed(&raw.zero, lines, stem, &workspaces)?,
        declared: Declared::read(&raw.numerics, lines, &owner)?,
        launches: Vec::new(),
        workspaces,
    };
    for launch in &raw.launch {
        let launch = self::launch(launch, lines, &owner, &entry)?;
        entry.launches.push(launch);
    }
    if entry.launches.is_empty() {
        return Err(Mistake { line, what: format!("{stem} has no [[op.launch]]") });
    }
    everything_is_used(&entry, &raw.ignore, lines)?;
    Ok(entry)
}

fn types(
    raw: &BTreeMap<Spanned<String>, Texts>,
    lines: &Lines,
    stem: Stem,
) -> Result<BTreeMap<String, Vec<DType>>, Mistake> {
    let mut types = BTreeMap::new();
    for (name, texts) in raw {
        let line = lines.of(name.span().start);
        let operand = name.get_ref();
        if !stem.facts().operands.iter().any(|known| known.name == operand) {
            return Err(Mistake { line, what: no_operand(stem, "types", operand) });
        }
        let dtype = |text: &String| {
            text.parse::<DType>().map_err(|error| Mistake { line, what: format!("types.{operand}: {error}") })
        };
        types.insert(operand.clone(), texts.0.iter().map(dtype).collect::<Result<_, _>>()?);
    }
    Ok(types)
}

fn layouts(
    raw: &BTreeMap<Spanned<String>, Texts>,
    lines: &Lines,
    stem: Stem,
) -> Result<BTreeMap<String, Vec<Arrangement>>, Mistake> {
    let mut layouts = BTreeMap::new();
    for (name, texts) in raw {
        let line = lines.of(name.span().start);
        let operand = name.get_ref();
        if !stem.facts().operands.iter().any(|known| known.name == operand) {
            return Err(Mistake { line, what: no_operand(stem, "layouts", operand) });
        }
        let arrangement = |text: &String| {
            let known = Arrangement::ALL.into_iter().find(|known| known.name() == text);
            let words = Arrangement::ALL.map(Arrangement::name).join(", ");
            match known {
                Some(Arrangement::Transposed) if !stem.facts().transposable.contains(&operand.as_str()) => {
                    Err(format!("no {stem} has a transposed '{operand}'"))
                }
                Some(known) => Ok(known),
                None => Err(format!("'{text}' is none of {words}")),
            }
            .map_err(|what| Mistake { line, what: format!("layouts.{operand}: {what}") })
        };
        layouts.insert(operand.clone(), texts.0.iter().map(arrangement).collect::<Result<_, _>>()?);
    }
    Ok(layouts)
}

fn no_operand(stem: Stem, what: &str, name: &str) -> String {
    let known: Vec<_> = stem.facts().operands.iter().map(|operand| operand.name).collect();
    format!("{what}: {stem} has no operand '{name}'; it has {}", known.join(", "))
}

/// The manifest's own names, in an order in which each needs only those before it.
fn own_names(
    raw: &BTreeMap<Spanned<String>, Text>,
    lines: &Lines,
    owner: &Owner<'_>,
) -> Result<Vec<(String, Stated)>, Mistake> {
    let mut waiting = Vec::new();
    for (name, text) in raw {
        let line = lines.of(name.span().start);
        let word = name.get_ref();
        if raw.len() > MOST_NAMES {
            let what = format!("let: {} names, the limit is {MOST_NAMES}", raw.len());
            return Err(Mistake { line, what });
        }
        let facts = owner.stem.facts();
        let taken = facts.operands.iter().any(|operand| operand.name == word)
            || facts.params.contains(&word.as_str())
            || facts.axes.iter().any(|axis| axis.name == word);
        if taken {
            let what = format!("let {word}: {} has a '{word}' of its own", owner.stem);
            return Err(Mistake { line, what });
        }
        waiting.push((word.clone(), owner.expression(line, &text.0, &format!("let {word}"))?));
    }
    let mut ordered: Vec<(String, Stated)> = Vec::new();
    while !waiting.is_empty() {
        let names: BTreeSet<String> = waiting.iter().map(|(name, _)| name.clone()).collect();
        let needs =
            |stated: &Stated| stated.expression.names().iter().any(|name| names.contains(&name.parts[0]));
        let (ready, rest): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, stated)| !needs(stated));
        if ready.is_empty() {
            let line = rest.first().map_or(1, |(_, stated)| stated.line);
            let names: Vec<String> = names.into_iter().collect();
            let what = format!("let: {} need each other", names.join(", "));
            return Err(Mistake { line, what });
        }
        ordered.extend(ready);
        waiting = rest;
    }
    Ok(ordered)
}

fn workspaces(raw: &raw::Op, lines: &Lines, owner: &Owner<'_>) -> Result<Vec<(String, Stated)>, Mistake> {
    let read = |(name, text): (&Spanned<String>, &Text)| {
        let line = lines.of(name.span().start);
        let word = name.get_ref();
        if word == "null" || owner.stem.facts().operands.iter().any(|operand| operand.name == word) {
            let what = format!("workspace {word}: the name is taken");
            return Err(Mistake { line, what });
        }
        Ok((word.clone(), owner.expression(line, &text.0, &format!("workspace {word}"))?))
    };
    raw.workspace.iter().map(read).collect()
}

fn zeroed(
    raw: &[Spanned<String>],
    lines: &Lines,
    stem: Stem,
    workspaces: &[(String, Stated)],
) -> Result<Vec<String>, Mistake> {
    let known = |name: &&Spanned<String>| {
        let name = name.get_ref();
        let output =
            |operand: &kernels::OperandFact| operand.name == name && operand.kind == OperandKind::Output;
        stem.facts().operands.iter().any(output) || workspaces.iter().any(|(known, _)| known == name)
    };
    if let Some(unknown) = raw.iter().find(|name| !known(name)) {
        let what = format!("zero: '{}' is no output and no workspace", unknown.get_ref());
        return Err(Mistake { line: lines.of(unknown.span().start), what });
    }
    Ok(raw.iter().map(|name| name.get_ref().clone()).collect())
}

fn launch(
    raw: &raw::Launch,
    lines: &Lines,
    owner: &Owner<'_>,
    entry: &Entry,
) -> Result<LaunchEntry, Mistake> {
    let args_line = lines.of(raw.args.span().start);
    let mut arguments = Vec::new();
    for (at, text) in raw.args.get_ref().iter().enumerate() {
        let line = lines.of(text.span().start);
        arguments.push(argument(line, at + 1, text.get_ref(), owner, entry)?);
    }
    Ok(LaunchEntry {
        line: lines.of(raw.kernel.span().start),
        kernel: raw.kernel.get_ref().clone(),
        kernel_line: lines.of(raw.kernel.span().start),
        when: raw.when.as_ref().map(|text| owner.stated(lines, text, "when")).transpose()?,
        grid: owner.several(lines, &raw.grid, "grid")?,
        block: owner.several(lines, &raw.block, "block")?,
        lds: raw.lds.as_ref().map(|text| owner.stated(lines, text, "lds")).transpose()?,
        args_line,
        arguments,
    })
}

fn argument(
    line: usize,
    number: usize,
    text: &str,
    owner: &Owner<'_>,
    entry: &Entry,
) -> Result<ArgumentEntry, Mistake> {
    let wrong = |why: String| Mistake { line, what: format!("argument {number} '{text}': {why}") };
    let (kind, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let rest = rest.trim();
    let scalar = Scalar::ALL.iter().find(|(name, _)| *name == kind).map(|(_, scalar)| *scalar);
    let what = match (kind, scalar) {
        _ if rest.is_empty() => {
            return Err(wrong("want a type and a value, as in 'ptr x' or 'i32 rows'".into()));
        }
        ("ptr", _) if rest == "null" => ArgumentWhat::Null,
        ("ptr", _) => {
            let operand = owner.stem.facts().operands.iter().any(|operand| operand.name == rest);
            let workspace = entry.workspaces.iter().position(|(name, _)| name == rest);
            match workspace {
                _ if operand => ArgumentWhat::Operand(rest.into()),
                Some(workspace) => ArgumentWhat::Workspace(workspace),
                None => {
                    let known = no_operand(owner.stem, "ptr", rest);
                    return Err(wrong(format!("{known}, and the manifest no such workspace")));
                }
            }
        }
        (_, Some(scalar)) => {
            ArgumentWhat::Scalar(scalar, owner.expression(line, rest, &format!("argument {number} {kind}"))?)
        }
        (_, None) => {
            let known: Vec<_> = Scalar::ALL.iter().map(|(name, _)| *name).collect();
            return Err(wrong(format!("no type '{kind}'; there are ptr, {}", known.join(", "))));
        }
    };
    Ok(ArgumentEntry { line, text: text.trim().into(), what })
}

/// An operand or a parameter that no kernel gets, and no condition asks about, cannot be computed with.
fn everything_is_used(entry: &Entry, ignored: &[Spanned<String>], lines: &Lines) -> Result<(), Mistake> {
    let (stem, facts) = (entry.stem, entry.stem.facts());
    let known = |name: &str| {
        facts.params.contains(&name) || facts.operands.iter().any(|operand| operand.name == name)
    };
    if let Some(unknown) = ignored.iter().find(|name| !known(name.get_ref())) {
        let what = format!("ignore: {stem} has no operand or parameter '{}'", unknown.get_ref());
        return Err(Mistake { line: lines.of(unknown.span().start), what });
    }
    let ignored = |name: &str| ignored.iter().any(|known| known.get_ref() == name);
    let passed = |name: &str| {
        entry.arguments().any(|argument| matches!(&argument.what, ArgumentWhat::Operand(o) if o == name))
    };
    for operand in &facts.operands {
        if operand.kind != OperandKind::Optional && !passed(operand.name) && !ignored(operand.name) {
            let what = format!(
                "{stem}: operand '{}' is passed to no kernel; pass 'ptr {}', or list it under ignore",
                operand.name, operand.name
            );
            return Err(Mistake { line: entry.line, what });
        }
    }
    let asked: Vec<&str> = entry
        .stated()
        .flat_map(|stated| stated.expression.names())
        .map(|name| name.parts[0].as_str())
        .collect();
    if let Some(param) = facts.params.iter().find(|param| !asked.contains(*param) && !ignored(param)) {
        let what = format!(
            "{stem}: parameter '{param}' is used nowhere; pass it, say under supports which values the kernel takes, or list it under \
             ignore"
        );
        return Err(Mistake { line: entry.line, what });
    }
    Ok(())
}

impl Entry {
    /// The arguments of all launches.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &ArgumentEntry> {
        self.launches.iter().flat_map(|launch| &launch.arguments)
    }

    /// Every expression of the entry.
    pub(crate) fn stated(&self) -> impl Iterator<Item = &Stated> {
        let named = self.own.iter().chain(&self.workspaces).map(|(_, stated)| stated);
        let launches = self.launches.iter().flat_map(|launch| {
            let sizes = launch.grid.iter().chain(&launch.block).chain(&launch.lds).chain(&launch.when);
            let scalars = launch.arguments.iter().filter_map(|argument| match &argument.what {
                ArgumentWhat::Scalar(_, stated) => Some(stated),
                ArgumentWhat::Operand(_) | ArgumentWhat::Workspace(_) | ArgumentWhat::Null => None,
            });
            sizes.chain(scalars)
        });
        self.supports.iter().chain(named).chain(self.declared.lanes()).chain(launches)
    }
}
