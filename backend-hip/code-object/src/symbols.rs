//! The symbols of a code object.

use std::collections::HashMap;
use std::ops::Range;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};

use crate::elf::Elf;
use crate::image::Image;

/// A function: a kernel, or one that kernels call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Addresses of its code, relative to the image.
    pub code: Range<u64>,
}

/// Symbols by name, and the functions by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    ranges: HashMap<String, Range<u64>>,
    functions: Vec<Function>,
}

impl Symbols {
    pub(crate) fn read(elf: &Elf<'_>, image: &Image) -> Self {
        let mut ranges = HashMap::new();
        let mut functions = Vec::new();
        let wanted = [SymbolKind::Text, SymbolKind::Data, SymbolKind::Unknown];
        for symbol in
            elf.dynamic_symbols().chain(elf.symbols()).filter(|symbol| wanted.contains(&symbol.kind()))
        {
            let Some(end) = symbol.address().checked_add(symbol.size()) else { continue };
            let range = symbol.address()..end;
            let Some(name) = symbol.name().ok().filter(|name| !name.is_empty()) else { continue };
            if image.holder(&range).is_none() {
                continue;
            }
            // An empty range may stand where a segment of data ends and one of code starts.
            let first = range.start..range.end.max(range.start.saturating_add(1));
            if symbol.kind() == SymbolKind::Text && image.is_executable(&first) {
                functions.push(Function { name: name.to_owned(), code: range.clone() });
            }
            ranges.insert(name.to_owned(), range);
        }
        functions.sort_by(|a, b| (a.code.start, &a.name).cmp(&(b.code.start, &b.name)));
        functions.dedup();
        let mut symbols = Self { ranges, functions };
        symbols.extend_functions(elf, image);
        symbols
    }

    /// Assemblers give functions no size. Such a one ends where the next function starts, or with its section.
    fn extend_functions(&mut self, elf: &Elf<'_>, image: &Image) {
        let starts: Vec<u64> = self.functions.iter().map(|function| function.code.start).collect();
        for function in self.functions.iter_mut().filter(|function| function.code.is_empty()) {
            let start = function.code.start;
            let sections = elf
                .sections()
                .map(|section| section.address()..section.address().saturating_add(section.size()));
            let section =
                sections.filter(|section| section.contains(&start)).map(|section| section.end).min();
            let next = starts.iter().copied().find(|&other| other > start);
            let end = section.into_iter().chain(next).min();
            let code = start..end.unwrap_or(start);
            if image.is_executable(&code) {
                function.code = code.clone();
                self.ranges.insert(function.name.clone(), code);
            }
        }
    }

    /// Addresses of a symbol, relative to the image.
    pub(crate) fn range(&self, name: &str) -> Option<Range<u64>> {
        self.ranges.get(name).cloned()
    }

    /// The first, by name, of the symbols that begin at an address relative to the image.
    pub(crate) fn name_at(&self, address: u64) -> Option<&str> {
        let there = self.ranges.iter().filter(|(_, range)| range.start == address);
        there.map(|(name, _)| name.as_str()).min()
    }

    /// All functions, by address.
    pub(crate) fn functions(&self) -> &[Function] {
        &self.functions
    }
}
