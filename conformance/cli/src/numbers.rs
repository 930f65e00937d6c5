//! Numbers on the command line: token ids, dimensions, threads, launches.

use clap::builder::RangedI64ValueParser;
use clap::value_parser;
use sanitize_protocol::Launches;

/// Threads that a backend may be asked for.
pub const MAX_THREADS: usize = 1024;

/// A number of threads.
pub fn thread_count(text: &str) -> Result<usize, String> {
    let count = text.parse::<usize>().map_err(|error| error.to_string())?;
    if count > MAX_THREADS {
        return Err(format!("{count} threads, the limit is {MAX_THREADS}"));
    }
    Ok(count)
}

/// Worker processes that may be asked for.
pub const MAX_JOBS: i64 = 1024;

/// A number of worker processes.
pub fn jobs() -> RangedI64ValueParser<u16> {
    value_parser!(u16).range(1..=MAX_JOBS)
}

/// Token ids: numbers separated by a comma, blanks, or both.
pub fn ids(text: &str) -> Result<Vec<u32>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let id = |word: &str| word.parse().map_err(|_| format!("'{word}' is no token id"));
    let mut ids = Vec::new();
    for part in text.split(',') {
        let before = ids.len();
        for word in part.split_whitespace() {
            ids.push(id(word)?);
        }
        if ids.len() == before {
            return Err(format!("no token id beside the comma after {before} of them"));
        }
    }
    Ok(ids)
}

/// `X`, `X,Y` or `X,Y,Z`; what is missing is 1.
pub fn dimensions(text: &str) -> Result<[u32; 3], String> {
    let mut dims = [1; 3];
    let parts: Vec<&str> = text.split(',').collect();
    if parts.len() > 3 {
        return Err(format!("{} dimensions, at most 3 are possible", parts.len()));
    }
    for (dim, part) in dims.iter_mut().zip(parts) {
        *dim = part.parse().map_err(|error| format!("{part:?}: {error}"))?;
    }
    Ok(dims)
}

/// `7` or `3-9`.
pub fn launches(text: &str) -> Result<Launches, String> {
    let number = |text: &str| match text.parse::<u64>() {
        Ok(0) => Err("the first launch is number 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{text:?}: {error}")),
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let launches = Launches { first: number(first)?, last: number(last)? };
    if launches.first > launches.last { Err(format!("{text}: there is none")) } else { Ok(launches) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stand_between_commas_and_blanks() {
        assert_eq!(ids("1,2 3, 4\n5"), Ok(vec![1, 2, 3, 4, 5]));
        assert_eq!(ids(" \n"), Ok(vec![]));
        for (text, said) in [
            ("1,,2", "no token id beside the comma after 1 of them"),
            ("1,2,", "no token id beside the comma after 2 of them"),
            (",1", "no token id beside the comma after 0 of them"),
            ("1,x", "'x' is no token id"),
            ("4294967296", "'4294967296' is no token id"),
        ] {
            assert_eq!(ids(text), Err(said.into()), "{text}");
        }
    }

    #[test]
    fn sizes_are_three_at_most_and_launches_a_range() {
        assert_eq!(dimensions("2,3"), Ok([2, 3, 1]));
        assert_eq!(launches("3-5"), Ok(Launches { first: 3, last: 5 }));
        assert!(dimensions("1,2,3,4").is_err() && dimensions("1,,2").is_err());
        assert!(launches("0").is_err() && launches("5-3").is_err() && launches("-").is_err());
        assert!(thread_count("1024").is_ok() && thread_count("1025").is_err());
    }
}
