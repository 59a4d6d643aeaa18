// A page goes to paper in light colors, with every box open and every figure there. Afterwards it is as it was.
(() => {
  const root = document.documentElement
  let closed = []
  let theme

  addEventListener('beforeprint', () => {
    theme = root.dataset.theme
    root.dataset.theme = 'light'
    closed = [...document.querySelectorAll('article details:not([open])')]
    closed.forEach(box => { box.open = true })
    document.querySelectorAll('article img[loading]').forEach(image => { image.loading = 'eager' })
  })

  addEventListener('afterprint', () => {
    root.dataset.theme = theme
    closed.forEach(box => { box.open = false })
  })
})()
