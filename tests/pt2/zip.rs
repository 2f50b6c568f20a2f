//! A zip writer that can lie.

/// An entry as it will be written.
#[derive(Clone)]
pub struct Entry {
    pub name: String,
    pub data: Vec<u8>,
    /// The compression method in both headers.
    pub method: u16,
    /// The size in the table of contents, where it is not that of the data.
    pub claimed: Option<u32>,
    /// The name in the local header, where it is another.
    pub local_name: Option<String>,
    /// The local header of an earlier entry is used instead of one of its own.
    pub same_as: Option<usize>,
}

impl Entry {
    pub fn new(name: &str, data: impl Into<Vec<u8>>) -> Entry {
        Entry { name: name.to_owned(), data: data.into(), method: 0, claimed: None, local_name: None, same_as: None }
    }
}

/// The archive; `count` is the number of entries that it claims to have.
pub fn write_claiming(entries: &[Entry], count: Option<u16>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut offsets: Vec<u32> = Vec::new();
    for entry in entries {
        if let Some(other) = entry.same_as {
            offsets.push(offsets[other]);
            continue;
        }
        offsets.push(bytes.len() as u32);
        let name = entry.local_name.as_ref().unwrap_or(&entry.name);
        bytes.extend(0x0403_4b50_u32.to_le_bytes());
        header(&mut bytes, entry, entry.data.len() as u32);
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend(0_u16.to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(&entry.data);
    }
    let start = bytes.len() as u32;
    for (entry, offset) in entries.iter().zip(offsets) {
        bytes.extend(0x0201_4b50_u32.to_le_bytes());
        bytes.extend(20_u16.to_le_bytes());
        header(&mut bytes, entry, entry.claimed.unwrap_or(entry.data.len() as u32));
        bytes.extend((entry.name.len() as u16).to_le_bytes());
        bytes.extend([0; 12]);
        bytes.extend(offset.to_le_bytes());
        bytes.extend(entry.name.as_bytes());
    }
    let len = bytes.len() as u32 - start;
    let count = count.unwrap_or(entries.len() as u16);
    bytes.extend(0x0605_4b50_u32.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(count.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend(len.to_le_bytes());
    bytes.extend(start.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

pub fn write(entries: &[Entry]) -> Vec<u8> {
    write_claiming(entries, None)
}

/// What both headers have in common.
fn header(bytes: &mut Vec<u8>, entry: &Entry, size: u32) {
    bytes.extend(20_u16.to_le_bytes());
    bytes.extend(0x0800_u16.to_le_bytes());
    bytes.extend(entry.method.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(crc32(&entry.data).to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(size.to_le_bytes());
}

fn crc32(data: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in data {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}
