//! Source positions from `.debug_line`.

use std::fmt::{self, Display, Formatter};

use gimli::{DebugLine, DebugLineOffset, DebugLineStr, DebugStr, EndianSlice, LittleEndian};
use object::{Object as _, ObjectSection as _};

use crate::elf::Elf;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A place in a source file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'a> {
    /// File name as the compiler recorded it, without directory.
    pub file: &'a str,
    /// Line, from 1.
    pub line: u32,
}

impl Display for Location<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// Which source line each instruction comes from.
#[derive(Clone, Debug, Default)]
pub struct LineTable {
    files: Vec<String>,
    /// Sorted by address; a row holds until the next one.
    rows: Vec<Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    address: u64,
    /// `None` ends a sequence, or marks code that belongs to no line.
    place: Option<(usize, u32)>,
}

impl LineTable {
    /// Reads what line tables there are. Debug data that cannot be read is as good as none:
    /// the code runs the same without it.
    pub(crate) fn read(elf: &Elf<'_>) -> Self {
        let section = |name| elf.section_by_name(name).and_then(|section| section.data().ok()).unwrap_or(&[]);
        let mut table = Self::default();
        let line = section(".debug_line");
        let strings = Strings {
            line: DebugLineStr::from(EndianSlice::new(section(".debug_line_str"), LittleEndian)),
            other: DebugStr::from(EndianSlice::new(section(".debug_str"), LittleEndian)),
        };
        let mut offset = 0;
        while offset < line.len() {
            match table.read_unit(line, offset, &strings) {
                Some(next) if next > offset => offset = next,
                _ => break,
            }
        }
        table.rows.sort();
        table
    }

    /// Reads the unit at an offset and returns the offset of the next.
    fn read_unit(&mut self, line: &[u8], offset: usize, strings: &Strings<'_>) -> Option<usize> {
        let section = DebugLine::new(line, LittleEndian);
        let program = section.program(DebugLineOffset(offset), 8, None, None).ok()?;
        let header = program.header().clone();
        let length = header.unit_length();
        let initial = usize::from(header.format().initial_length_size());
        let mut rows = program.rows();
        let mut files = Vec::new();
        while let Ok(Some((header, row))) = rows.next_row() {
            let index = usize::try_from(row.file_index()).ok()?;
            let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
            let place = match (row.end_sequence(), line) {
                (false, Some(line)) => {
                    let name = row.file(header).and_then(|file| strings.name(file.path_name()))?;
                    Some((self.file(&mut files, index, name), line))
                }
                _ => None,
            };
            self.rows.push(Row { address: row.address(), place });
        }
        offset.checked_add(initial)?.checked_add(length)
    }

    /// The number under which a unit's file is kept here.
    fn file(&mut self, known: &mut Vec<(usize, usize)>, index: usize, name: &str) -> usize {
        if let Some(&(_, here)) = known.iter().find(|(there, _)| *there == index) {
            return here;
        }
        self.files.push(name.to_owned());
        known.push((index, self.files.len() - 1));
        self.files.len() - 1
    }

    /// The line of the instruction at an address.
    pub fn find(&self, address: u64) -> Option<Location<'_>> {
        let after = self.rows.partition_point(|row| row.address <= address);
        let (file, line) = self.rows[..after].last()?.place?;
        Some(Location { file: self.files.get(file)?, line })
    }

    /// Whether there is no line at all.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

struct Strings<'a> {
    line: DebugLineStr<Slice<'a>>,
    other: DebugStr<Slice<'a>>,
}

impl<'a> Strings<'a> {
    fn name(&self, value: gimli::AttributeValue<Slice<'a>>) -> Option<&'a str> {
        let slice = match value {
            gimli::AttributeValue::String(slice) => slice,
            gimli::AttributeValue::DebugLineStrRef(offset) => self.line.get_str(offset).ok()?,
            gimli::AttributeValue::DebugStrRef(offset) => self.other.get_str(offset).ok()?,
            _ => return None,
        };
        std::str::from_utf8(slice.slice()).ok()
    }
}
