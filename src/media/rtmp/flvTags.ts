import type { Message } from './messages.ts'

const FILE_HEAD_BYTES = 13
const TAG_HEAD_BYTES = 11
/** The length of the tag is repeated after it. */
const TAG_TAIL_BYTES = 4

/** Reads the tags of an FLV stream (annex E.4.1) as RTMP messages. */
export class FlvReader {
  #pending = Buffer.alloc(0)
  #inTags = false

  push(data: Buffer): Message[] {
    this.#pending = Buffer.concat([this.#pending, data])
    if (!this.#inTags) {
      if (this.#pending.length < FILE_HEAD_BYTES) return []
      this.#inTags = true
      this.#pending = this.#pending.subarray(FILE_HEAD_BYTES)
    }
    const messages: Message[] = []
    for (let tag = this.#nextTag(); tag !== null; tag = this.#nextTag()) messages.push(tag)
    return messages
  }

  #nextTag(): Message | null {
    const bytes = this.#pending
    if (bytes.length < TAG_HEAD_BYTES) return null
    const end = TAG_HEAD_BYTES + bytes.readUIntBE(1, 3)
    if (bytes.length < end + TAG_TAIL_BYTES) return null
    this.#pending = bytes.subarray(end + TAG_TAIL_BYTES)
    // The highest eight bits of the timestamp come last.
    const timestamp = bytes.readUIntBE(4, 3) + bytes.readUInt8(7) * 2 ** 24
    const payload = Buffer.from(bytes.subarray(TAG_HEAD_BYTES, end))
    return { type: bytes.readUInt8(0) & 0x1f, streamId: 0, timestamp, payload }
  }
}
