//! A few instructions on given registers: for tests, and for trying out what an instruction does.

use super::access::lds::{Lds, Touch};
use super::access::scratch::Scratch;
use super::core::counters::Tally;
use super::core::cx::{Cx, Step};
use super::core::mode::Mode;
use super::core::wave::{SCALARS, State, Wave};
use super::group::interpret;
use super::program::{Program, Registers};
use crate::isa::inst::scalar;
use crate::memory::{AccessKind, Checks, Lanes, LaunchMemory};
use crate::report::Problem;

/// `s_endpgm`.
const END: u32 = 0xbf81_0000;
/// A snippet that has not ended after so many instructions never will.
const BUDGET: u64 = 1 << 20;

/// What a wave has besides memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaveState {
    /// The scalar file as encoded, see [`scalar`]: EXEC is `scalars[126..128]`.
    pub scalars: [u32; scalar::FILE_LEN],
    /// VGPRs.
    pub vgprs: Vec<Lanes>,
    /// Accumulation registers.
    pub agprs: Vec<Lanes>,
    /// Scalar condition code.
    pub scc: bool,
    /// The MODE register.
    pub mode: u32,
    /// LDS, all of it written.
    pub lds: Vec<u8>,
}

impl WaveState {
    /// All zero, all lanes active, the modes a HIP kernel starts with.
    pub fn new(vgprs: usize, agprs: usize, lds: usize) -> Self {
        let mut scalars = [0; scalar::FILE_LEN];
        scalars[usize::from(scalar::EXEC)..].fill(u32::MAX);
        Self {
            scalars,
            vgprs: vec![[0; 64]; vgprs],
            agprs: vec![[0; 64]; agprs],
            scc: false,
            mode: 0x3f0,
            lds: vec![0; lds],
        }
    }

    /// Two scalar registers as one value.
    pub fn pair(&self, first: u8) -> u64 {
        let at = usize::from(first);
        u64::from(self.scalars[at]) | (u64::from(self.scalars[at + 1]) << 32)
    }

    /// Sets two scalar registers.
    pub fn set_pair(&mut self, first: u8, value: u64) {
        let at = usize::from(first);
        (self.scalars[at], self.scalars[at + 1]) = (value as u32, (value >> 32) as u32);
    }

    /// Runs `words` as the whole of a wave's program, and leaves the state as they do. Missing waits are not looked for.
    pub fn run(&mut self, words: &[u32], memory: &LaunchMemory) -> Result<(), Problem> {
        self.run_program(&self.program(words), memory)
    }

    /// As [`run`](Self::run); a missing wait is a fault.
    pub fn run_watched(&mut self, words: &[u32], memory: &LaunchMemory) -> Result<(), Problem> {
        let mut program = self.program(words);
        program.look_for_missing_waits(&[0]);
        self.run_program(&program, memory)
    }

    fn program(&self, words: &[u32]) -> Program {
        let mut text = words.to_vec();
        text.push(END);
        let registers = Registers { vgprs: self.vgprs.len() as u16, agprs: self.agprs.len() as u16 };
        Program::new(&text, 0, 0, registers)
    }

    fn run_program(&mut self, program: &Program, memory: &LaunchMemory) -> Result<(), Problem> {
        let mut wave = self.wave(program);
        let mut lds = self.filled_lds();
        let mut cx = Cx {
            wave: &mut wave,
            lds: &mut lds,
            memory,
            group: &mut memory.group(0),
            counters: &mut Tally::default(),
            program,
            trap: None,
        };
        let step = loop {
            match interpret(&mut cx, BUDGET, BUDGET) {
                Step::Yield => {}
                // No other wave has to come.
                Step::Barrier => cx.lds.pass_barrier(),
                step => break step,
            }
        };
        if let Some(trap) = cx.trap.take() {
            return Err(trap.problem);
        }
        debug_assert!(matches!(step, Step::End));
        self.scalars.copy_from_slice(&wave.s[..scalar::FILE_LEN]);
        let (vgprs, agprs) = (self.vgprs.len(), self.agprs.len());
        self.vgprs.copy_from_slice(&wave.v[..vgprs]);
        self.agprs.copy_from_slice(&wave.v[vgprs..vgprs + agprs]);
        self.scc = wave.scc;
        self.mode = wave.mode.bits();
        for (at, byte) in (0..).zip(&mut self.lds) {
            *byte = lds.read(at, 1) as u8;
        }
        Ok(())
    }

    fn wave(&self, program: &Program) -> Wave {
        let mut wave = Wave {
            s: [0; SCALARS],
            v: program.vector_file(),
            scc: self.scc,
            mode: Mode::new(self.mode),
            gpr_index: false,
            vskip: false,
            pc: 0,
            poison: 0,
            poisonings: Vec::new(),
            waits: crate::waits::State::default(),
            marks: None,
            scratch: Scratch::new(256, true),
            state: State::Ready,
            executed: 0,
            id: 0,
        };
        wave.s[..scalar::FILE_LEN].copy_from_slice(&self.scalars);
        wave.v[..self.vgprs.len()].copy_from_slice(&self.vgprs);
        wave.v[self.vgprs.len()..][..self.agprs.len()].copy_from_slice(&self.agprs);
        wave
    }

    fn filled_lds(&self) -> Lds {
        let mut lds = Lds::new(self.lds.len() as u64, Checks::ALL);
        for (at, &byte) in (0..).zip(&self.lds) {
            let touch = Touch { kind: AccessKind::Write, wave: 0, at, size: 1, offset: 0, lane: 0, equal: 0 };
            if lds.touch(touch).is_ok() {
                lds.write(at, 1, byte.into());
            }
        }
        lds.pass_barrier();
        lds
    }
}
