//! Rounded activations that several products share.

use std::sync::Arc;

use super::Product;
use super::format::Codes;
use super::group::Operation;
use super::quantized_activations::Rounded;

/// Activations that have been rounded for products of one kind.
struct Entry<'a> {
    product: &'a Product<'a>,
    codes: Codes,
    parts: bool,
    rounded: Arc<Rounded<'a>>,
}

/// What has been rounded so far.
#[derive(Default)]
pub struct Shelf<'a>(Vec<Entry<'a>>);

impl<'a> Shelf<'a> {
    /// The activations of `product`, to be multiplied by `O`.
    pub fn rounded<O: Operation>(&mut self, product: &'a Product<'a>) -> Arc<Rounded<'a>> {
        let same = |entry: &&Entry<'_>| {
            entry.codes == O::CODES && entry.parts == O::PARTS && entry.product.x.same_as(&product.x)
        };
        if let Some(entry) = self.0.iter().find(same) {
            return Arc::clone(&entry.rounded);
        }
        let rounded = Arc::new(Rounded::of::<O>(product.threads, &product.x, product.m, product.k));
        self.0.push(Entry { product, codes: O::CODES, parts: O::PARTS, rounded: Arc::clone(&rounded) });
        rounded
    }
}
