//! The GGUF format, version 3: metadata, then tensors.

const VERSION: u32 = 3;
const ALIGNMENT: usize = 32;
const KIND_F32: u32 = 0;

/// A value of the metadata.
#[derive(Debug, Clone)]
pub(super) enum Value {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Numbers(Vec<i32>),
    Texts(Vec<String>),
}

/// A matrix, or a vector where `rows` is 1.
#[derive(Debug, Clone)]
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) columns: u16,
    pub(super) rows: u16,
    /// Row by row.
    pub(super) content: Vec<f32>,
}

/// The file.
pub(super) fn file(metadata: &[(&str, Value)], tensors: &[Tensor]) -> Vec<u8> {
    let mut out = Out(b"GGUF".to_vec());
    out.u32(VERSION);
    out.len(tensors.len());
    out.len(metadata.len());
    for (key, value) in metadata {
        out.text(key);
        out.value(value);
    }
    let mut data = Out(Vec::new());
    for tensor in tensors {
        let sizes: &[u16] = match tensor.rows {
            1 => &[tensor.columns],
            _ => &[tensor.columns, tensor.rows],
        };
        out.text(&tensor.name);
        out.u32(u32::try_from(sizes.len()).unwrap_or(0));
        for size in sizes {
            out.len(usize::from(*size));
        }
        out.u32(KIND_F32);
        data.align();
        out.len(data.0.len());
        data.0.extend(tensor.content.iter().flat_map(|number| number.to_le_bytes()));
    }
    out.align();
    out.0.extend(data.0);
    out.0
}

struct Out(Vec<u8>);

impl Out {
    fn u32(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn len(&mut self, length: usize) {
        self.0.extend(u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.len(text.len());
        self.0.extend(text.as_bytes());
    }

    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(ALIGNMENT), 0);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::U32(number) => {
                self.u32(4);
                self.u32(*number);
            }
            Value::F32(number) => {
                self.u32(6);
                self.0.extend(number.to_le_bytes());
            }
            Value::Bool(set) => {
                self.u32(7);
                self.0.push(u8::from(*set));
            }
            Value::Text(text) => {
                self.u32(8);
                self.text(text);
            }
            Value::Numbers(numbers) => {
                self.u32(9);
                self.u32(5);
                self.len(numbers.len());
                self.0.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }
            Value::Texts(texts) => {
                self.u32(9);
                self.u32(8);
                self.len(texts.len());
                for text in texts {
                    self.text(text);
                }
            }
        }
    }
}
