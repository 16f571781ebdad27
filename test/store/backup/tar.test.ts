import { type FileHandle, mkdtemp, open, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tarEntries, TarWriter } from '../../../src/store/backup/tar.ts'

/** The head of a file in an archive, with a right checksum. @param size as its field has it */
function headOf(size: string): Buffer {
  const block = Buffer.alloc(512)
  block.write('data.db', 0)
  block.write(size, 124, 12)
  block.write('ustar', 257)
  block.fill(' ', 148, 156)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

async function newFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-tar-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, 'backup.tar')
}

test.each(['none at all', '-0000001000', '           '])(
  'an archive with the size "%s" is damaged, and threw',
  async (size) => {
    const file = await newFile()
    await writeFile(file, Buffer.concat([headOf('00000000000'), headOf(size), Buffer.alloc(1024)]))
    const source = await open(file)
    expect(await tarEntries(source, 8)).toEqual({ ok: false, error: 'damaged' })
    await source.close()
  },
)

test.each([8 * 2 ** 30 - 1, 8 * 2 ** 30, 9 * 2 ** 30 + 7])(
  'a file of %i bytes, which take eleven octal digits or more, is found again',
  async (bytes) => {
    const head: Buffer[] = []
    const write = (chunk: Buffer) => {
      head.push(Buffer.from(chunk))
      return Promise.resolve({ bytesWritten: chunk.length })
    }
    // A disk that has so much would take minutes. It ends after its head.
    const source = { stat: () => Promise.resolve({ size: bytes }), read: () => Promise.resolve({ bytesRead: 0 }) }
    const writer = new TarWriter({ write } as unknown as FileHandle, 0)
    await expect(writer.addFile('data.db', source as unknown as FileHandle)).rejects.toThrow('became shorter')
    const file = await newFile()
    await writeFile(file, Buffer.concat(head))
    await truncate(file, 512 + Math.ceil(bytes / 512) * 512 + 1024)
    const archive = await open(file)
    expect(await tarEntries(archive, 8)).toEqual({ ok: true, value: [{ name: 'data.db', bytes, at: 512 }] })
    await archive.close()
  },
)
