//! Quantised activations that several products share.

use std::sync::Arc;

use super::operation::{Codes, Operation};
use super::product::Product;
use super::quantized_activations::QuantizedActivations;

/// Activations quantised for one kind of operation.
struct Entry<'a> {
    product: &'a Product<'a>,
    codes: Codes,
    parts: bool,
    quantized: Arc<QuantizedActivations<'a>>,
}

/// What has been quantised so far for a batch of products.
#[derive(Default)]
pub struct ActivationCache<'a>(Vec<Entry<'a>>);

impl<'a> ActivationCache<'a> {
    /// The activations of `product`, quantised for operation `O`.
    pub fn quantized<O: Operation>(&mut self, product: &'a Product<'a>) -> Arc<QuantizedActivations<'a>> {
        let same = |entry: &&Entry<'_>| {
            entry.codes == O::CODES && entry.parts == O::PARTS && entry.product.x.same_as(&product.x)
        };
        if let Some(entry) = self.0.iter().find(same) {
            return Arc::clone(&entry.quantized);
        }
        let quantized =
            Arc::new(QuantizedActivations::of::<O>(product.threads, &product.x, product.m, product.k));
        self.0.push(Entry { product, codes: O::CODES, parts: O::PARTS, quantized: Arc::clone(&quantized) });
        quantized
    }
}
