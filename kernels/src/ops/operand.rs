//! The operands of an op as a list: to walk them, to exchange their buffers, to bind them to data.
//!
//! An op's struct has typed fields, for those who write and run it. Decorators, capsules and reports see the
//! same fields as a list. [`operands!`] makes the second from the first, so that no op spells its fields twice.

use serde_json::{Map, Value};

use super::record::{Bag, BindError};
use super::{OperandFact, OperandKind};
use crate::{Indices, Layout, Source, View, ViewMut};

/// What an op does with an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads it.
    Input,
    /// Reads it as indices whose values the host knows.
    Indices,
    /// Writes it; reads it first where another operand is in place.
    Output,
}

/// One operand of an op.
#[derive(Debug)]
pub struct OperandRef<'s, B> {
    /// Name of the field.
    pub name: &'static str,
    /// Read or written.
    pub role: Role,
    /// Where it lies in its buffer.
    pub layout: Layout,
    /// Memory that holds it.
    pub buffer: &'s B,
}

/// Exchanges the buffers of an op, operand by operand.
pub trait Rebind<'a, B, C> {
    /// The view that takes the place of an input.
    fn view(&mut self, name: &'static str, view: View<'a, B>) -> View<'a, C>;

    /// The view that takes the place of an output.
    fn view_mut(&mut self, name: &'static str, view: ViewMut<'a, B>) -> ViewMut<'a, C>;
}

/// The fact about the operand `name`, from the type of the field that `field` projects.
pub(crate) fn fact<'a, O, T>(name: &'static str, _field: fn(&O) -> &T) -> OperandFact
where
    T: Operand<'a, ()>,
{
    OperandFact { name, kind: T::KIND }
}

/// A field of an op that stands for an operand.
pub(crate) trait Operand<'a, B>: Sized {
    /// What the field may hold.
    const KIND: OperandKind;

    /// The same field over other buffers, borrowed for `'s`.
    type With<'s, C: 's>
    where
        Self: 's;

    fn visit<'s>(&'s self, name: &'static str, visitor: &mut dyn FnMut(OperandRef<'s, B>));

    fn rebind<'s, C>(&'s mut self, name: &'static str, with: &mut dyn Rebind<'s, B, C>) -> Self::With<'s, C>;

    fn take(name: &'static str, bag: &mut Bag<'a, B>) -> Result<Self, BindError>;

    /// The view to write, of a field that is an output.
    fn into_output(self) -> Option<ViewMut<'a, B>> {
        None
    }
}

impl<'a, B: 'a> Operand<'a, B> for View<'a, B> {
    const KIND: OperandKind = OperandKind::Input;

    type With<'s, C: 's>
        = View<'s, C>
    where
        Self: 's;

    fn visit<'s>(&'s self, name: &'static str, visitor: &mut dyn FnMut(OperandRef<'s, B>)) {
        visitor(OperandRef { name, role: Role::Input, layout: self.layout, buffer: self.buffer });
    }

    fn rebind<'s, C>(&'s mut self, name: &'static str, with: &mut dyn Rebind<'s, B, C>) -> View<'s, C> {
        with.view(name, *self)
    }

    fn take(name: &'static str, bag: &mut Bag<'a, B>) -> Result<Self, BindError> {
        bag.input(name)?.ok_or(BindError::MissingOperand(name))
    }
}

impl<'a, B: 'a> Operand<'a, B> for Option<View<'a, B>> {
    const KIND: OperandKind = OperandKind::Optional;

    type With<'s, C: 's>
        = Option<View<'s, C>>
    where
        Self: 's;

    fn visit<'s>(&'s self, name: &'static str, visitor: &mut dyn FnMut(OperandRef<'s, B>)) {
        if let Some(view) = self {
            view.visit(name, visitor);
        }
    }

    fn rebind<'s, C>(
        &'s mut self,
        name: &'static str,
        with: &mut dyn Rebind<'s, B, C>,
    ) -> Option<View<'s, C>> {
        self.as_mut().map(|view| view.rebind(name, with))
    }

    fn take(name: &'static str, bag: &mut Bag<'a, B>) -> Result<Self, BindError> {
        bag.input(name)
    }
}

impl<'a, B: 'a> Operand<'a, B> for Source<'a, B> {
    const KIND: OperandKind = OperandKind::InPlace;

    type With<'s, C: 's>
        = Source<'s, C>
    where
        Self: 's;

    fn visit<'s>(&'s self, name: &'static str, visitor: &mut dyn FnMut(OperandRef<'s, B>)) {
        if let Source::Of(view) = self {
            view.visit(name, visitor);
        }
    }

    fn rebind<'s, C>(&'s mut self, name: &'static str, with: &mut dyn Rebind<'s, B, C>) -> Source<'s, C> {
        match self {
            Source::Of(view) => Source::Of(view.rebind(name, with)),
            Source::InPlace => Source::InPlace,
        }
    }

    fn take(name: &'static str, bag: &mut Bag<'a, B>) -> Result<Self, BindError> {
        Ok(bag.input(name)?.map_or(Source::InPlace, Source::Of))
    }
}

impl<'a, B: 'a> Operand<'a, B> for Indices<'a, B> {
    const KIND: OperandKind = OperandKind::Indices;

    type With<'s, C: 's>
        = Indices<'s, C>
    where
        Self: 's;

    fn visit<'s>(&'s self, name: &'static str, visitor: &mut dyn FnMut(OperandRef<'s, B>)) {
        let view = &self.view;
        visitor(OperandRef { name, role: Role::Indices, layout: view.layout, buffer: view.buffer });
    }

    fn rebind<'s, C>(&'s mut self, name: &'static str, with: &mut dyn Rebind<'s, B, C>) -> Indices<'s, C> {
        Indices { view: with.view(name, self.view), values: self.values }
    }

    fn take(name: &'static str, bag: &mut Bag<'a, B>) -> Result<Self, BindError> {
        bag.indices(name)
    }
}

impl<'a, B: 'a> Operand<'a, B> for ViewMut<'a, B> {
    const KIND: OperandKind = OperandKind::Output;

    type With<'s, C: 's>
        = ViewMut<'s, C>
    where
        Self: 's;

    fn visit<'s>(&'s self, name: &'static str, visitor: &mut dyn FnMut(OperandRef<'s, B>)) {
        visitor(OperandRef { name, role: Role::Output, layout: self.layout, buffer: &*self.buffer });
    }

    fn rebind<'s, C>(&'s mut self, name: &'static str, with: &mut dyn Rebind<'s, B, C>) -> ViewMut<'s, C> {
        with.view_mut(name, ViewMut::new(&mut *self.buffer, self.layout))
    }

    fn take(name: &'static str, bag: &mut Bag<'a, B>) -> Result<Self, BindError> {
        bag.output(name)
    }

    fn into_output(self) -> Option<ViewMut<'a, B>> {
        Some(self)
    }
}

/// The value of parameter `name` of a stored op.
pub(crate) fn param<T: serde::de::DeserializeOwned>(
    params: &Map<String, Value>,
    name: &'static str,
) -> Result<T, BindError> {
    let value = params.get(name).ok_or(BindError::MissingParam(name))?;
    serde_json::from_value(value.clone()).map_err(|e| BindError::BadParam { name, why: e.to_string() })
}

/// What an op is: its [`Class`](super::Class), its operands and parameters in the order of its struct, those of the operands
/// that are of type *float*, those that may be transposed (`; transposable { weight }`, where there are any), and the axes that the
/// operands share. From it follow validation's entry, walking, rebinding, storing, binding, cutting and the op's [`Facts`](super::Facts).
///
/// ```text
/// operands! {
///     RmsNorm: Bounded { x, weight, out } { eps }
///     floats { x, weight, out }
///     rows: Independent { x 0, out 0 }
///     columns: Summed { x 1, weight 0, out 1 }
/// }
/// ```
///
/// `KvWrite: Bitwise, updates { … }` is an op that writes only part of its outputs.
macro_rules! operands {
    (@updates) => { false };
    (@updates updates) => { true };
    ($Op:ident: $class:ident $(, $updates:ident)? { $($operand:ident),+ $(,)? } { $($param:ident),* $(,)? }
        floats { $($float:ident),* } $(; transposable { $($transposable:ident),+ })?
        $($axis:ident: $kind:ident { $($along:ident $dim:literal),+ $(,)? })+
    ) => {
        pub(super) fn facts() -> &'static $crate::ops::Facts {
            use std::sync::LazyLock;
            use $crate::ops::operand::fact;
            static FACTS: LazyLock<$crate::ops::Facts> = LazyLock::new(|| $crate::ops::Facts {
                class: $crate::ops::Class::$class,
                operands: vec![$(fact(stringify!($operand), |op: &$Op<'_, ()>| &op.$operand),)+],
                params: &[$(stringify!($param)),*],
                floats: &[$(stringify!($float)),*],
                transposable: &[$($(stringify!($transposable)),+)?],
                axes: &[$($crate::ops::Axis {
                    name: stringify!($axis),
                    kind: $crate::ops::AxisKind::$kind,
                    operands: &[$((stringify!($along), $dim)),+],
                }),+],
                updates: $crate::ops::operand::operands!(@updates $($updates)?),
            });
            &FACTS
        }

        impl<'a, B: 'a> $Op<'a, B> {
            /// Checks everything that can be checked before the op runs. The only way to a [`Valid`](crate::Valid) op.
            pub fn validate(self) -> Result<$crate::Valid<$crate::Op<'a, B>>, $crate::OpError>
            where
                B: $crate::Buffer,
            {
                $crate::Op::$Op(self).validate()
            }

            pub(crate) fn visit<'s>(&'s self, visitor: &mut dyn FnMut($crate::OperandRef<'s, B>)) {
                use $crate::ops::operand::Operand as _;
                $(self.$operand.visit(stringify!($operand), visitor);)+
            }

            pub(crate) fn into_outputs(self) -> Vec<$crate::ViewMut<'a, B>> {
                use $crate::ops::operand::Operand as _;
                [$(self.$operand.into_output(),)+].into_iter().flatten().collect()
            }

            pub(crate) fn rebind<'s, C>(&'s mut self, with: &mut dyn $crate::Rebind<'s, B, C>) -> $Op<'s, C> {
                use $crate::ops::operand::Operand as _;
                $Op {
                    $($operand: self.$operand.rebind(stringify!($operand), with),)+
                    $($param: self.$param,)*
                }
            }

            pub(crate) fn params(&self) -> serde_json::Map<String, serde_json::Value> {
                #[allow(unused_mut, reason = "an op may have no parameters")]
                let mut params = serde_json::Map::new();
                $(params.insert(stringify!($param).into(), serde_json::json!(self.$param));)*
                params
            }

            pub(crate) fn bind(
                #[allow(unused_variables, reason = "an op may have no parameters")]
                params: &serde_json::Map<String, serde_json::Value>,
                bag: &mut $crate::ops::record::Bag<'a, B>,
            ) -> Result<Self, $crate::BindError> {
                Ok($Op {
                    $($operand: $crate::ops::operand::Operand::take(stringify!($operand), bag)?,)+
                    $($param: $crate::ops::operand::param(params, stringify!($param))?,)*
                })
            }
        }
    };
}
pub(crate) use operands;
