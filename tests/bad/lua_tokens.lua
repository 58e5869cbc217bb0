return function(sample) return { 1 } end
