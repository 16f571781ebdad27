import { totalmem } from 'node:os'
import { loadAddon } from './addon.ts'

/**
 * The memory that this process may use, bytes: that of the machine, or less by a limit of its control group. Without a limit Node
 * reports 0, or the largest number that the kernel can write.
 */
export const usableMemoryBytes = (constrained = process.constrainedMemory(), total = totalmem()): number =>
  Math.min(constrained || total, total)

/**
 * Frees memory that only the start needed: a quarter of the heap, and the pages of the C library that hold nothing any
 * more, which the addon gives back. An idle server would keep both for hours. It takes 20 ms, so it is for a server
 * without requests.
 */
export async function freeStartMemory(addon: unknown = loadAddon('memory')): Promise<void> {
  await globalThis.gc?.({ type: 'major', execution: 'async', flavor: 'last-resort' })
  const { trim } = (addon ?? {}) as { readonly trim?: unknown }
  if (typeof trim === 'function') trim()
}
