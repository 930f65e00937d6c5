//! Cube map coordinates: which face of a cube a direction meets, and where on it.

use crate::exec::core::cx::{Cx, Handler, Step};
use crate::exec::core::lanes::map3;
use crate::exec::core::uop::Uop;
use crate::exec::core::vectorised::lanewise;
use crate::isa::Op;

/// The face, its two coordinates and twice the major axis.
struct Face {
    id: f32,
    s: f32,
    t: f32,
    major: f32,
}

/// The largest coordinate decides; of equals z comes before y, and y before x.
fn face(x: f32, y: f32, z: f32) -> Face {
    if z.abs() >= x.abs() && z.abs() >= y.abs() {
        let behind = z < 0.0;
        Face { id: if behind { 5.0 } else { 4.0 }, s: if behind { -x } else { x }, t: -y, major: 2.0 * z }
    } else if y.abs() >= x.abs() {
        let below = y < 0.0;
        Face { id: if below { 3.0 } else { 2.0 }, s: x, t: if below { -z } else { z }, major: 2.0 * y }
    } else {
        let left = x < 0.0;
        Face { id: if left { 1.0 } else { 0.0 }, s: if left { z } else { -z }, t: -y, major: 2.0 * x }
    }
}

#[inline(always)]
fn part(c: &mut Cx<'_>, u: &Uop, f: fn(Face) -> f32) -> Step {
    map3(c, u, move |x: f32, y: f32, z: f32| f(face(x, y, z)))
}

pub(super) fn handler(op: Op) -> Option<Handler> {
    let handler: Handler = match op {
        Op::v_cubeid_f32 => lanewise!(|c, u| part(c, u, |face| face.id)),
        Op::v_cubesc_f32 => lanewise!(|c, u| part(c, u, |face| face.s)),
        Op::v_cubetc_f32 => lanewise!(|c, u| part(c, u, |face| face.t)),
        Op::v_cubema_f32 => lanewise!(|c, u| part(c, u, |face| face.major)),
        _ => return None,
    };
    Some(handler)
}
