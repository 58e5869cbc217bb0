return function(sample) return {} end
