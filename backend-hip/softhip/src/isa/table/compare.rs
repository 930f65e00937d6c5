//! What a vector compare tests.

/// A vector compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Compare {
    /// What is tested.
    pub test: Test,
    /// The numbers it is tested of.
    pub number: Number,
    /// The result goes to EXEC, too (`v_cmpx`).
    pub writes_exec: bool,
}

/// What is tested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// A relation of the two sources.
    Relation(Relation),
    /// The first source is in one of the classes of the second.
    Class,
}

/// The outcomes of a comparison that satisfy it, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Relation(u8);

impl Relation {
    /// The first source is less.
    pub const LESS: u8 = 1;
    /// The sources are equal.
    pub const EQUAL: u8 = 2;
    /// The first source is greater.
    pub const GREATER: u8 = 4;
    /// One of the sources is a NaN. Integers are never unordered.
    pub const UNORDERED: u8 = 8;

    /// The outcomes that satisfy it.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

/// The relations by the names that mnemonics give them.
pub(super) mod relation {
    use super::Relation;
    const ORDERED: u8 = Relation::LESS | Relation::EQUAL | Relation::GREATER;
    const ALL: u8 = ORDERED | Relation::UNORDERED;
    pub const F: Relation = Relation(0);
    pub const LT: Relation = Relation(Relation::LESS);
    pub const EQ: Relation = Relation(Relation::EQUAL);
    pub const LE: Relation = Relation(Relation::LESS | Relation::EQUAL);
    pub const GT: Relation = Relation(Relation::GREATER);
    pub const LG: Relation = Relation(Relation::LESS | Relation::GREATER);
    pub const GE: Relation = Relation(Relation::GREATER | Relation::EQUAL);
    pub const O: Relation = Relation(ORDERED);
    pub const U: Relation = Relation(Relation::UNORDERED);
    pub const NGE: Relation = Relation(ALL & !GE.0);
    pub const NLG: Relation = Relation(ALL & !LG.0);
    pub const NGT: Relation = Relation(ALL & !GT.0);
    pub const NLE: Relation = Relation(ALL & !LE.0);
    pub const NEQ: Relation = Relation(ALL & !EQ.0);
    pub const NLT: Relation = Relation(ALL & !LT.0);
    pub const TRU: Relation = Relation(ALL);
    /// Of integers, which are never unordered.
    pub const NE: Relation = LG;
    /// Of integers, which are never unordered.
    pub const T: Relation = O;
}

/// A format of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(missing_docs, reason = "each is named by its type")]
pub enum Number {
    F16,
    F32,
    F64,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}
