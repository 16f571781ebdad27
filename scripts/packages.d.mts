import type { SpawnSyncOptions } from 'node:child_process'

export function build(): Promise<void>

/** Paths everywhere. `app`: what `stage` returned. */
export function packTarball(directory: string): string
export function stage(tarball: string, directory: string): string

export const GLIBC: string
export function buildDeb(
  app: string,
  directory: string,
  options?: { version?: string; compression?: readonly string[] },
): string

export function buildImage(app: string, name: string, options?: { tool?: string; base?: string }): void
/** `app`: what `stage` returned. */
export function writeSbom(app: string, file: string): void
export function releaseNotes(changelog: string, version: string): string
export function run(program: string, args: readonly string[], options?: SpawnSyncOptions): string
