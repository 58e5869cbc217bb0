local function f(x) return 1 + f(x) end
return function(sample) return f(1) end
