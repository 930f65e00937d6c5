//! Typed accesses of buffers: their components are converted from and to a format, which is that of the resource (MUBUF)
//! or of the instruction (MTBUF).
//!
//! The formats are those of the CDNA3 manual's chapter on memory buffer instructions. An element is in range as a whole or
//! not at all; out of range its components are zero. What the manual leaves open is refused by name: values that do not fit
//! a format of integers, elements of more components than are stored, 32 bits that go to 16.

use super::buffer::{self, Lanes as Places};
use super::{active, global};
use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::uop::Uop;
use crate::exec::float::{f16_of_f32, f32_of_f16};
use crate::isa::table;
use crate::isa::table::memory::{Component, Data, MemoryOp};
use crate::isa::table::rule::Mem;
use crate::isa::{Format as Encoding, Mods, Op};
use crate::memory::{Lanes, WAVE};

/// What the bits of a component mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    /// From 0 to 1.
    Unorm,
    /// From -1 to 1.
    Snorm,
    /// Integers as floats.
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
}

/// The components of an element, from its lowest bit up, in bits.
#[derive(Debug, Clone, Copy)]
struct Layout {
    widths: &'static [u32],
    number: Number,
}

/// A component, as it was loaded.
#[derive(Debug, Clone, Copy)]
enum Loaded {
    Half(u16),
    Single(u32),
    Real(f64),
    Integer(u32),
}

impl Layout {
    /// The layout of a data format and a number format; `None` if there is none.
    fn of(data: u32, number: u32) -> Option<Self> {
        let widths: &[u32] = match data {
            1 => &[8],
            2 => &[16],
            3 => &[8, 8],
            4 => &[32],
            5 => &[16, 16],
            6 => &[11, 11, 10],
            7 => &[10, 11, 11],
            8 => &[2, 10, 10, 10],
            9 => &[10, 10, 10, 2],
            10 => &[8; 4],
            11 => &[32; 2],
            12 => &[16; 4],
            13 => &[32; 3],
            14 => &[32; 4],
            _ => return None,
        };
        let number = match number {
            0 => Number::Unorm,
            1 => Number::Snorm,
            2 => Number::Uscaled,
            3 => Number::Sscaled,
            4 => Number::Uint,
            5 => Number::Sint,
            7 => Number::Float,
            _ => return None,
        };
        let exists = match widths[0] {
            32 => matches!(number, Number::Uint | Number::Sint | Number::Float),
            8 => number != Number::Float,
            2 | 10 if widths.len() == 4 => number != Number::Float,
            _ => true,
        };
        exists.then_some(Self { widths, number })
    }

    fn bits(&self) -> u32 {
        self.widths.iter().sum()
    }

    /// The lowest bit of a component.
    fn start(&self, component: usize) -> u32 {
        self.widths[..component].iter().sum()
    }

    /// A component of an element.
    fn take(&self, element: u128, component: usize) -> Loaded {
        let width = self.widths[component];
        let raw = (element >> self.start(component)) as u32 & (u32::MAX >> (32 - width));
        let signed = ((raw << (32 - width)) as i32) >> (32 - width);
        let largest = f64::from(u32::MAX >> (32 - width));
        match (self.number, width) {
            (Number::Unorm, _) => Loaded::Real(f64::from(raw) / largest),
            (Number::Snorm, _) => {
                Loaded::Real((f64::from(signed) / f64::from((1 << (width - 1)) - 1)).max(-1.0))
            }
            (Number::Uscaled, _) => Loaded::Real(raw.into()),
            (Number::Sscaled, _) => Loaded::Real(signed.into()),
            (Number::Uint, _) => Loaded::Integer(raw),
            (Number::Sint, _) => Loaded::Integer(signed.cast_unsigned()),
            (Number::Float, 32) => Loaded::Single(raw),
            // Floats of 11 and 10 bits are f16 without a sign and without the low bits.
            (Number::Float, _) => Loaded::Half((raw << (16 - width - u32::from(width != 16))) as u16),
        }
    }

    /// The bits of a component to be stored; the error says why there are none.
    fn encode(&self, component: usize, value: u32, is_half: bool) -> Result<u32, &'static str> {
        let width = self.widths[component];
        let mask = u32::MAX >> (32 - width);
        let single = if is_half { f32_of_f16(value as u16) } else { value };
        let real = f64::from(f32::from_bits(single));
        let scaled = |low: f64, unit: f64| {
            let clamped = if real.is_nan() { 0.0 } else { real.clamp(low, 1.0) };
            (clamped * unit).round_ties_even() as i32 as u32 & mask
        };
        let whole = |value: i64, low: i64, high: i64| {
            let bits = (low..=high).contains(&value).then_some(value as u32 & mask);
            bits.ok_or("a value that does not fit the format")
        };
        let integer = || if real.fract() == 0.0 { real as i64 } else { i64::MAX };
        let (largest, half) = (i64::from(mask), i64::from(mask / 2));
        match self.number {
            Number::Unorm => Ok(scaled(0.0, mask.into())),
            Number::Snorm => Ok(scaled(-1.0, (mask / 2).into())),
            Number::Uscaled => whole(integer(), 0, largest),
            Number::Sscaled => whole(integer(), -half - 1, half),
            Number::Uint => whole(if is_half { value & 0xffff } else { value }.into(), 0, largest),
            Number::Sint if is_half => whole((value as i16).into(), -half - 1, half),
            Number::Sint => whole(value.cast_signed().into(), -half - 1, half),
            Number::Float if width == 32 => Ok(single),
            Number::Float if width == 16 => {
                Ok(if is_half { value & 0xffff } else { f16_of_f32(single).into() })
            }
            Number::Float => Err("a float of fewer than 16 bits"),
        }
    }
}

impl Loaded {
    fn dword(self) -> u32 {
        match self {
            Self::Half(bits) => f32_of_f16(bits),
            Self::Single(bits) | Self::Integer(bits) => bits,
            Self::Real(value) => (value as f32).to_bits(),
        }
    }

    fn half(self) -> u32 {
        match self {
            Self::Half(bits) => bits.into(),
            Self::Single(bits) => f16_of_f32(bits).into(),
            Self::Real(value) => f16_of_f32((value as f32).to_bits()).into(),
            Self::Integer(bits) => bits & 0xffff,
        }
    }
}

/// Where a component that is loaded, or stored, comes from or goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Select {
    Zero,
    One,
    Component(usize),
}

/// A typed access.
struct Access {
    layout: Layout,
    select: [Select; 4],
    components: usize,
    component: Component,
}

impl Access {
    /// What an instruction accesses; the error says what is not supported.
    fn of(c: &Cx<'_>, u: &Uop) -> Result<Self, &'static str> {
        let Some(MemoryOp::Buffer(rule) | MemoryOp::TypedBuffer(rule)) = table::memory(u.inst.op) else {
            return Err("encoding");
        };
        let (Mem::Load(data) | Mem::LoadOrLds(data) | Mem::Store(data), Mods::Buffer(mods)) =
            (rule, u.inst.mods)
        else {
            return Err("modifiers");
        };
        let Data::Formatted { components, component } = data else { return Err("data") };
        if mods.lds {
            return Err("lds");
        }
        let words = buffer::words(c, u).ok_or("resource")?;
        let typed = u.inst.format == Encoding::Mtbuf;
        let (data, number) = if typed {
            (mods.format & 15, mods.format >> 4)
        } else if (words[3] >> 23) & 1 != 0 {
            return Err("the format of a resource that adds the lane's number");
        } else {
            (((words[3] >> 15) & 15) as u8, ((words[3] >> 12) & 7) as u8)
        };
        let layout = Layout::of(data.into(), number.into()).ok_or("format")?;
        let mut select = [Select::Zero; 4];
        for (i, select) in select.iter_mut().enumerate() {
            let code = if typed { 4 + i as u32 } else { (words[3] >> (3 * i)) & 7 };
            *select = match code {
                1 => Select::One,
                4.. if (code as usize - 4) < layout.widths.len() => Select::Component(code as usize - 4),
                0 | 4.. => Select::Zero,
                _ => return Err("selected component"),
            };
        }
        if words[1] >> 31 != 0 && layout.bits() > 32 {
            return Err("swizzled elements of several dwords");
        }
        let integers = matches!(layout.number, Number::Uint | Number::Sint);
        if component != Component::Dword && integers && layout.widths[0] == 32 {
            return Err("integers of 32 bits in 16");
        }
        Ok(Self { layout, select, components: components.into(), component })
    }

    /// Bytes of an element.
    fn bytes(&self) -> u32 {
        self.layout.bits() / 8
    }

    /// Bytes to be loaded: up to the last one that is asked for.
    fn needed(&self) -> u32 {
        let ends = self.select[..self.components].iter().map(|select| match select {
            Select::Component(i) => self.layout.start(*i) + self.layout.widths[*i],
            Select::Zero | Select::One => 8,
        });
        let bytes = ends.max().unwrap_or(8).div_ceil(8);
        if bytes > 2 { bytes.next_multiple_of(4).min(self.bytes()) } else { bytes }
    }

    /// The lanes that are in range, and those that are not.
    fn places(&self, c: &mut Cx<'_>, u: &Uop) -> Result<Places, &'static str> {
        let mut places = buffer::lanes(c, u, self.bytes())?;
        places.outside |= std::mem::take(&mut places.across);
        places.count(c);
        Ok(places)
    }

    /// What a lane gets of an element in register `register` of the destination.
    fn register(&self, element: u128, register: usize, old: u32) -> u32 {
        let component = |i: usize| match self.select[i] {
            Select::Component(from) => self.layout.take(element, from),
            Select::Zero => Loaded::Integer(0),
            Select::One if matches!(self.layout.number, Number::Uint | Number::Sint) => Loaded::Integer(1),
            Select::One => Loaded::Real(1.0),
        };
        match self.component {
            Component::Dword => component(register).dword(),
            Component::D16High => (old & 0xffff) | component(0).half() << 16,
            Component::D16 => {
                let low = component(2 * register).half();
                let second = 2 * register + 1;
                let high = if second < self.components { component(second).half() } else { old >> 16 };
                low | high << 16
            }
        }
    }

    /// Registers of the data.
    fn registers(&self) -> usize {
        if self.component == Component::Dword { self.components } else { self.components.div_ceil(2) }
    }

    /// The value of component `i` in a lane's registers from `first` on.
    fn value(&self, v: &[Lanes], first: usize, i: usize, lane: usize) -> (u32, bool) {
        match self.component {
            Component::Dword => (v[first + i][lane], false),
            Component::D16 => ((v[first + i / 2][lane] >> (16 * (i % 2))) & 0xffff, true),
            Component::D16High => (v[first][lane] >> 16, true),
        }
    }
}

fn element(words: &[Lanes; 4], lane: usize) -> u128 {
    (0..4).fold(0, |element, i| element | u128::from(words[i][lane]) << (32 * i))
}

fn load(c: &mut Cx<'_>, u: &Uop) -> Step {
    let prepared = Access::of(c, u).and_then(|access| Ok((access.places(c, u)?, access)));
    let (places, access) = match prepared {
        Ok(prepared) => prepared,
        Err(what) => return c.unsupported(u, what),
    };
    let mut words = [[0; WAVE]; 4];
    let bytes = access.needed();
    let loaded = global::load_elements(c, u, &places.place(), places.inside, bytes, &mut words);
    if loaded != Step::Next {
        return loaded;
    }
    for lane in active(places.outside) {
        words.iter_mut().for_each(|word| word[lane] = 0);
    }
    for lane in active(places.inside | places.outside) {
        let element = element(&words, lane);
        for i in 0..access.registers() {
            let register = &mut c.wave.v[usize::from(u.dst) + i][lane];
            *register = access.register(element, i, *register);
        }
    }
    Step::Next
}

fn store(c: &mut Cx<'_>, u: &Uop) -> Step {
    let prepared = Access::of(c, u).and_then(|access| Ok((access.places(c, u)?, access)));
    let (places, access) = match prepared {
        Ok(prepared) => prepared,
        Err(what) => return c.unsupported(u, what),
    };
    let mut words = [[0u32; WAVE]; 4];
    for component in 0..access.layout.widths.len() {
        // The component that the resource says goes there.
        let source = access.select.iter().position(|&select| select == Select::Component(component));
        let Some(source) = source.filter(|&source| source < access.components) else {
            return c.unsupported(u, "an element with components that are not stored");
        };
        let start = access.layout.start(component);
        for lane in active(places.inside) {
            let (value, is_half) = access.value(&c.wave.v, usize::from(u.src[1]), source, lane);
            match access.layout.encode(component, value, is_half) {
                Ok(bits) => words[start as usize / 32][lane] |= bits << (start % 32),
                Err(what) => return c.unsupported(u, what),
            }
        }
    }
    global::store_elements(c, u, &places.place(), places.inside, access.bytes(), &words)
}

/// The handler of a typed operation on a buffer.
pub(in crate::exec) fn handler(op: Op) -> Option<Handler> {
    let (MemoryOp::Buffer(rule) | MemoryOp::TypedBuffer(rule)) = table::memory(op)? else { return None };
    match rule {
        Mem::Load(Data::Formatted { .. }) | Mem::LoadOrLds(Data::Formatted { .. }) => Some(load),
        Mem::Store(Data::Formatted { .. }) => Some(store),
        _ => None,
    }
}
