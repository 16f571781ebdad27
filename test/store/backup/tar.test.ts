import { mkdtemp, open, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { tarEntries } from '../../../src/store/backup/tar.ts'

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

test.each(['none at all', '-0000001000', '           '])(
  'an archive with the size "%s" is damaged, and threw',
  async (size) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-tar-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'backup.tar')
    await writeFile(file, Buffer.concat([headOf('00000000000'), headOf(size), Buffer.alloc(1024)]))
    const source = await open(file)
    expect(await tarEntries(source, 8)).toEqual({ ok: false, error: 'damaged' })
    await source.close()
  },
)
