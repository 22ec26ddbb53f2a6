//! Randomness, for marks that nobody can guess.

/// Random bytes.
pub trait Randomness: Send + Sync {
    /// Fills `bytes`.
    ///
    /// # Errors
    ///
    /// The system has none to give.
    fn fill(&self, bytes: &mut [u8]) -> Result<(), String>;
}

/// The operating system's.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), String> {
        let provider = rustls::crypto::ring::default_provider();
        let random = provider.secure_random.fill(bytes);
        random.map_err(|_| "the system gives no randomness".to_owned())
    }
}

/// What nobody can know who wrote into the data of a request.
#[derive(Clone)]
pub(crate) struct Secrets {
    /// In every line of AIR's own between data: 32 hexadecimal digits.
    pub(crate) mark: String,
    /// In the answer: 8 hexadecimal digits.
    pub(super) code: String,
    tags: [u8; 32],
}

impl Secrets {
    pub(crate) fn new(random: &dyn Randomness) -> Result<Self, String> {
        let mut bytes = [0; 32];
        random.fill(&mut bytes)?;
        let mark = blake3::derive_key("air-llm judge mark v1", &bytes);
        let code = blake3::derive_key("air-llm judge code v1", &bytes);
        let tags = blake3::derive_key("air-llm judge tags v1", &bytes);
        Ok(Self { mark: hexadecimal(&mark, 16), code: hexadecimal(&code, 4), tags })
    }

    /// The tag of the measurement of that number.
    pub(super) fn tag(&self, number: usize) -> String {
        let digest = blake3::keyed_hash(&self.tags, &number.to_le_bytes());
        format!("m-{}", hexadecimal(digest.as_bytes(), 3))
    }

    /// All that is random in a request with so many measurements: a recording knows it without them.
    pub(super) fn nonces(&self, measurements: usize) -> Vec<String> {
        let tags = (0..measurements).map(|number| self.tag(number));
        [self.mark.clone(), self.code.clone()].into_iter().chain(tags).collect()
    }
}

fn hexadecimal(bytes: &[u8], count: usize) -> String {
    let digits = bytes.iter().take(count).map(|byte| format!("{byte:02x}"));
    digits.collect()
}
