import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { loadAddon } from '../../src/base/addon.ts'
import { freeStartMemory, usableMemoryBytes } from '../../src/base/processMemory.ts'

describe('memory that a process may use', () => {
  it.each([
    ['the limit of its control group', 1000, 1000],
    ['that of the machine without a limit, as cgroup v1 reports it', 2 ** 64, 8000],
    ['that of the machine without a control group', 0, 8000],
  ])('is %s', (_, constrained, usable) => expect(usableMemoryBytes(constrained, 8000)).toBe(usable))
})

describe('memory that only the start needed', () => {
  it('is freed by the collector first, and its pages then leave by the addon', async () => {
    const order: string[] = []
    vi.stubGlobal('gc', async () => {
      await Promise.resolve()
      order.push('collected')
    })
    onTestFinished(() => void vi.unstubAllGlobals())
    await freeStartMemory({ trim: () => order.push('trimmed') })
    expect(order).toEqual(['collected', 'trimmed'])
  })

  it('stays where there is no addon, or another one', async () => {
    await expect(freeStartMemory(null)).resolves.toBeUndefined()
    await expect(freeStartMemory({ trim: 1 })).resolves.toBeUndefined()
  })

  it.runIf(loadAddon('memory'))('leaves by the addon of this machine', async () => {
    const addon = loadAddon('memory') as { trim: () => void }
    const trim = vi.spyOn(addon, 'trim')
    onTestFinished(() => trim.mockRestore())
    await freeStartMemory()
    expect(trim).toHaveBeenCalledOnce()
  })
})
