// Runs vitest with the addons of native/ under AddressSanitizer and UndefinedBehaviorSanitizer: npm run test:addons
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildNative } from '../../scripts/native.mjs'

const path = (relative: string): string => fileURLToPath(new URL(`../../${relative}`, import.meta.url))

/** What must be loaded before Node, so that it sees all memory. */
function library(): string {
  const found = execFileSync('cc', ['-print-file-name=libasan.so'], { encoding: 'utf8', timeout: 10_000 }).trim()
  if (existsSync(found)) return found
  throw new Error('The compiler has no AddressSanitizer. Debian: apt install gcc')
}

const folder = path('build/sanitized')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
buildNative(folder, [
  '-fsanitize=address,undefined',
  '-fno-sanitize-recover=undefined',
  '-fno-omit-frame-pointer',
  '-g',
])

const child = spawn(process.execPath, [path('node_modules/vitest/vitest.mjs'), ...process.argv.slice(2)], {
  cwd: path('.'),
  stdio: 'inherit',
  // Node does not free everything at its end.
  env: { ...process.env, LD_PRELOAD: library(), ASAN_OPTIONS: 'detect_leaks=0' },
})
child.on('exit', (code) => (process.exitCode = code ?? 1))
