// Loaded before src/main.ts when npm runs it. npm passes SIGTERM and SIGINT on, but when it ends in another way (SIGKILL,
// SIGHUP) nobody tells its child, which would keep its ports. The process then has another parent, and stops as if asked to.
const CHECK_MS = 500

const npm = process.ppid
const watch = setInterval(() => {
  if (process.ppid === npm) return
  clearInterval(watch)
  process.kill(process.pid, 'SIGTERM')
}, CHECK_MS)
watch.unref()
